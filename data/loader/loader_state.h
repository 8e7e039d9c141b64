#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/now_reading.h"
#include "data/loader/loader.h"

// The insides of Loader, for its sources only.

namespace wam {

struct Loader::Slot {
  Slot(std::vector<std::uint64_t> which, HostMemory memory, BatchPictures pictures)
      : ordinals(std::move(which)),
        errors(ordinals.size()),
        assembler(ordinals.size(), memory, pictures) {}
  [[nodiscard]] bool is_complete() const { return done == ordinals.size(); }

  std::vector<std::uint64_t> ordinals;
  std::vector<std::exception_ptr> errors;
  BatchAssembler assembler;
  std::size_t taken = 0;  // by workers
  std::size_t done = 0;
};

// Shared by the consumer and the workers, so that one that is left behind has all that it uses.
struct Loader::State {
  using Clock = std::chrono::steady_clock;

  struct Worker {
    ReadingNote reading;
    std::optional<std::uint64_t> ordinal;  // in hand
    Clock::time_point since;
    bool has_ended = false;
  };

  State(std::shared_ptr<const Dataset> data,
        SampleOrder sample_order,
        LoaderOptions loader_options);

  void work(Worker& worker);
  // All below with the lock held.
  void add_slot();
  Slot* slot_to_do();  // the first one with a position that may be taken now
  void wait_for(std::unique_lock<std::mutex>& lock, const Slot& slot);
  // Until every worker has ended; false when that takes longer.
  bool wait_for_ends(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds limit);
  // "sample 13 (dataset 0, episode 3, frame 17) is being read for 45 s, now from FILE": the one
  // that is longest in hand.
  [[nodiscard]] std::string slowest() const;

  const std::shared_ptr<const Dataset> dataset;
  const SampleOrder order;
  const LoaderOptions options;

  std::mutex mutex;
  std::condition_variable work_to_do;
  std::condition_variable something_done;
  std::deque<std::unique_ptr<Worker>> workers;
  std::deque<std::unique_ptr<Slot>> slots;  // in order
  std::uint64_t next_step = 0;              // of the slot that add_slot makes next
  std::int64_t next_micro_step = 0;
  std::uint64_t finished = 0;  // samples
  bool asked = false;          // next() waits
  bool stop = false;
  bool stalled = false;

 private:
  void load(Slot& slot, std::size_t position) const;
};

}  // namespace wam
