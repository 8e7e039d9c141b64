#include "data/loader/loader.h"

#include <algorithm>
#include <utility>

#include "core/base/errors.h"
#include "data/loader/loader_state.h"

namespace wam {
namespace {

using std::chrono::milliseconds;

// Samples take less; at an end nobody needs to wait for a file system.
constexpr milliseconds kCloseLimit{10'000};

}  // namespace

Loader::Loader(std::shared_ptr<const Dataset> dataset,
               const SampleOrder& order,
               const TextEmbeddings& text,
               const LoaderOptions& options)
    : text_(text),
      epoch_size_(order.epoch_size()),
      state_(std::make_shared<State>(std::move(dataset), order, options)) {
  for (auto& worker : state_->workers) {
    threads_.emplace_back([state = state_, &worker = *worker] { state->work(worker); });
  }
}

Loader::~Loader() {
  std::vector<bool> ended;
  {
    std::unique_lock lock(state_->mutex);
    state_->stop = true;
    state_->work_to_do.notify_all();
    const milliseconds limit = std::min(state_->options.stall_limit, kCloseLimit);
    state_->wait_for_ends(lock, state_->stalled ? milliseconds(0) : limit);
    for (const auto& worker : state_->workers) ended.push_back(worker->has_ended);
  }
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    if (ended[i]) {
      threads_[i].join();
    } else {
      threads_[i].detach();
    }
  }
}

// The next slot, complete and out of the queue.
std::unique_ptr<Loader::Slot> Loader::front() {
  std::unique_lock lock(state_->mutex);
  if (state_->slots.empty()) state_->add_slot();
  state_->asked = true;
  state_->work_to_do.notify_all();
  state_->wait_for(lock, *state_->slots.front());
  state_->asked = false;
  auto slot = std::move(state_->slots.front());
  state_->slots.pop_front();
  state_->work_to_do.notify_all();
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
  try {
    const std::unique_ptr<Slot> slot = front();
    wait_s_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
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

std::int64_t Loader::micro_steps() const {
  return state_->options.plan.micro_steps();
}

std::uint64_t Loader::samples_consumed() const {
  const BatchPlan& plan = state_->options.plan;
  return plan.start + steps_done_ * plan.global_batch;
}

}  // namespace wam
