#include "data/loader/loader_state.h"

#include <algorithm>

#include "core/base/errors.h"
#include "core/cuda/device.h"

namespace wam {
namespace {

using std::chrono::milliseconds;

// Of the stall limit: when a sample that takes long is named, and how often is looked.
constexpr int kSlowShare = 8;
constexpr int kLookShare = 40;

double seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

LoaderOptions checked(LoaderOptions options) {
  const BatchPlan& plan = options.plan;
  invariant(plan.global_batch > 0 && plan.micro_batch > 0 && plan.world > 0 && plan.rank >= 0 &&
                plan.rank < plan.world && options.prefetch_samples > 0 && options.workers >= 0 &&
                options.stall_limit.count() > 0,
            "a loader's options in range");
  return options;
}

}  // namespace

Loader::State::State(std::shared_ptr<const Dataset> data,
                     SampleOrder sample_order,
                     LoaderOptions loader_options)
    : dataset(std::move(data)),
      order(std::move(sample_order)),
      options(checked(std::move(loader_options))) {
  invariant(order.num_windows() == dataset->size(), "an order of this dataset");
  const std::int64_t count = std::max<std::int64_t>(1, options.workers);
  for (std::int64_t i = 0; i < count; ++i) workers.push_back(std::make_unique<Worker>());
}

void Loader::State::load(Slot& slot, std::size_t position) const {
  try {
    const std::uint64_t ordinal = slot.ordinals[position];
    slot.assembler.put(position, dataset->load(order.window(ordinal), ordinal, options.transforms));
  } catch (...) {
    slot.errors[position] = std::current_exception();
  }
}

void Loader::State::add_slot() {
  slots.push_back(std::make_unique<Slot>(options.plan.ordinals(next_step, next_micro_step),
                                         options.memory, options.pictures));
  if (++next_micro_step == options.plan.micro_steps()) {
    next_micro_step = 0;
    ++next_step;
  }
}

Loader::Slot* Loader::State::slot_to_do() {
  // A rank that is beyond the global batch never has a sample.
  const bool has_samples =
      static_cast<std::uint64_t>(options.plan.rank) < options.plan.global_batch;
  std::int64_t ahead = options.workers > 0 && has_samples ? options.prefetch_samples : 0;
  for (std::size_t i = 0; i < slots.size() || ahead > 0; ++i) {
    if (i == slots.size()) add_slot();
    Slot& slot = *slots[i];
    const bool waited_for = asked && i == 0;
    if (!waited_for) ahead -= static_cast<std::int64_t>(slot.taken);
    if (!waited_for && ahead <= 0) return nullptr;
    if (slot.taken < slot.ordinals.size()) return &slot;
  }
  return nullptr;
}

void Loader::State::work(Worker& worker) {
  compute_alone();  // samples are what is done side by side
  const NotedReads noted(worker.reading);
  std::unique_lock lock(mutex);
  for (;;) {
    Slot* slot = nullptr;
    work_to_do.wait(lock, [&] { return stop || (slot = slot_to_do()) != nullptr; });
    if (stop) break;
    const std::size_t position = slot->taken++;
    worker.ordinal = slot->ordinals[position];
    worker.since = Clock::now();
    worker.reading.set({});
    lock.unlock();
    load(*slot, position);
    lock.lock();
    worker.ordinal.reset();
    ++slot->done;
    ++finished;
    something_done.notify_all();
  }
  worker.has_ended = true;
  something_done.notify_all();
}

std::string Loader::State::slowest() const {
  const Worker* found = nullptr;
  for (const auto& worker : workers) {
    if (worker->ordinal && (found == nullptr || worker->since < found->since)) found = worker.get();
  }
  if (found == nullptr) return "no sample is being read";
  const SampleId id = dataset->identify(order.window(*found->ordinal));
  const std::string file = found->reading.file();
  return fmt::format("sample {} (dataset {}, episode {}, frame {}) is being read for {:.1f} s, {}",
                     *found->ordinal, id.dataset, id.episode, id.frame,
                     seconds(Clock::now() - found->since),
                     file.empty() ? "from no file so far" : "now from " + file);
}

void Loader::State::wait_for(std::unique_lock<std::mutex>& lock, const Slot& slot) {
  const milliseconds look =
      std::clamp(options.stall_limit / kLookShare, milliseconds(1), milliseconds(1000));
  std::uint64_t seen = finished;
  auto last = Clock::now();
  Clock::duration still{0};
  bool named = false;
  while (!slot.is_complete()) {
    something_done.wait_for(lock, look, [&] { return finished != seen; });
    const auto now = Clock::now();
    if (finished != seen) {
      seen = finished;
      still = {};
      named = false;
      if (options.moved) options.moved();
    } else {
      // A process that was stopped meanwhile has not waited.
      still += std::min<Clock::duration>(now - last, 2 * look);
    }
    last = now;
    if (still >= options.stall_limit) {
      stalled = true;
      throw DeviceError(fmt::format(
          "waiting for data: {}; no sample was finished for {:.1f} s. Either the file system does "
          "not answer or it is far too slow. Fix: look at the file and its file system (ls, df, "
          "dmesg), or raise run.timeout_s.",
          slowest(), seconds(still)));
    }
    if (named || still < options.stall_limit / kSlowShare) continue;
    named = true;
    if (options.on_slow) options.on_slow("waiting for data: " + slowest());
  }
}

bool Loader::State::wait_for_ends(std::unique_lock<std::mutex>& lock, milliseconds limit) {
  return something_done.wait_for(lock, limit, [&] {
    return std::all_of(workers.begin(), workers.end(), [](auto& w) { return w->has_ended; });
  });
}

}  // namespace wam
