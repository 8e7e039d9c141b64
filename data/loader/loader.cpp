#include "data/loader/loader.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/errors.h"

namespace wam {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

std::size_t slots_for(const LoaderOptions& options) {
  const BatchPlan& plan = options.plan;
  // The rank's samples of a step may be fewer than the micro-batches could take.
  const std::int64_t of_step = static_cast<std::int64_t>(plan.global_batch) / plan.world;
  const std::int64_t samples = std::max<std::int64_t>(1, of_step / plan.micro_steps());
  return static_cast<std::size_t>(std::max(options.prefetch, ceil_div(options.workers, samples)));
}

const LoaderOptions& checked(const LoaderOptions& options) {
  const BatchPlan& plan = options.plan;
  invariant(plan.global_batch > 0 && plan.micro_batch > 0 && plan.world > 0 && plan.rank >= 0 &&
                plan.rank < plan.world && options.prefetch > 0 && options.workers >= 0,
            "a loader's options in range");
  return options;
}

}  // namespace

Loader::Loader(const Dataset& dataset,
               const SampleOrder& order,
               const TextEmbeddings& text,
               const LoaderOptions& options)
    : dataset_(dataset),
      order_(order),
      text_(text),
      options_(checked(options)),
      num_slots_(slots_for(options)) {
  invariant(order.epoch_size() == dataset.size(), "an order of this dataset");
  for (std::int64_t i = 0; i < options.workers; ++i) threads_.emplace_back([this] { work(); });
}

Loader::~Loader() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_to_do_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void Loader::load(Slot& slot, std::size_t position) const {
  try {
    const std::uint64_t ordinal = slot.ordinals[position];
    slot.assembler.put(position,
                       dataset_.load(order_.window(ordinal), ordinal, options_.transforms));
  } catch (...) {
    slot.errors[position] = std::current_exception();
  }
}

void Loader::refill() {
  while (slots_.size() < num_slots_) {
    slots_.push_back(std::make_unique<Slot>(options_.plan.ordinals(next_step_, next_micro_step_),
                                            options_.memory, options_.pictures));
    if (++next_micro_step_ == micro_steps()) {
      next_micro_step_ = 0;
      ++next_step_;
    }
  }
}

Loader::Slot* Loader::slot_to_do() {
  refill();
  for (auto& slot : slots_) {
    if (slot->taken < slot->ordinals.size()) return slot.get();
  }
  return nullptr;
}

void Loader::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    Slot* slot = nullptr;
    work_to_do_.wait(lock, [&] { return stop_ || (slot = slot_to_do()) != nullptr; });
    if (stop_) return;
    const std::size_t position = slot->taken++;
    lock.unlock();
    load(*slot, position);
    lock.lock();
    if (++slot->done == slot->ordinals.size()) slot_done_.notify_all();
  }
}

// The next slot, complete and out of the queue.
std::unique_ptr<Loader::Slot> Loader::front(std::unique_lock<std::mutex>& lock) {
  refill();
  Slot& first = *slots_.front();
  if (threads_.empty()) {
    for (; first.done < first.ordinals.size(); ++first.done) load(first, first.done);
  } else {
    slot_done_.wait(lock, [&] { return first.done == first.ordinals.size(); });
  }
  auto slot = std::move(slots_.front());
  slots_.pop_front();
  return slot;
}

void Loader::advance() {
  if (++micro_steps_done_ == micro_steps()) {
    micro_steps_done_ = 0;
    ++steps_done_;
  }
}

Batch Loader::next() {
  if (failed_) std::rethrow_exception(failed_);
  const auto begin = std::chrono::steady_clock::now();
  std::unique_ptr<Slot> slot;
  {
    std::unique_lock lock(mutex_);
    slot = front(lock);
  }
  work_to_do_.notify_all();
  wait_s_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  try {
    for (const auto& error : slot->errors) {
      if (error) std::rethrow_exception(error);
    }
    Batch batch = slot->assembler.finish(text_);
    advance();
    return batch;
  } catch (...) {
    failed_ = std::current_exception();
    throw;
  }
}

std::uint64_t Loader::samples_consumed() const {
  return options_.plan.start + steps_done_ * options_.plan.global_batch;
}

}  // namespace wam
