#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/train/dataset.h"
#include "data/loader/collate.h"
#include "data/loader/order.h"

namespace wam {

struct LoaderOptions {
  BatchPlan plan;
  std::int64_t workers = 0;  // threads that decode ahead; 0: in next()
  // Micro-batches decoded ahead, at least; more where they hold fewer samples than there are
  // workers, so that every worker has one to decode.
  std::int64_t prefetch = 4;
  Transforms transforms = Transforms::kTraining;
  HostMemory memory = HostMemory::kPageable;
  BatchPictures pictures = BatchPictures::kTransformed;  // by the workers
};

// Micro-batches of the run's stream of samples (order.h), decoded ahead.
//
// What comes out, to the byte, depends on the dataset, the order and the plan alone: not on the
// number of workers, on prefetch, or on where a run was resumed.
// Errors: what loading a sample throws comes out of the next() whose batch needs it (the first of
// that batch), and of every later next().
// Threads: one consumer. Shutdown: the destructor waits for the samples in hand.
class Loader : public BatchSource {
 public:
  // All references must outlive the loader.
  Loader(const Dataset& dataset,
         const SampleOrder& order,
         const TextEmbeddings& text,
         const LoaderOptions& options);
  ~Loader() override;
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;
  Loader(Loader&&) = delete;
  Loader& operator=(Loader&&) = delete;

  Batch next() override;
  [[nodiscard]] std::int64_t micro_steps() const override { return options_.plan.micro_steps(); }
  [[nodiscard]] std::uint64_t samples_consumed() const override;
  [[nodiscard]] std::uint64_t epoch_size() const override { return order_.epoch_size(); }
  // Seconds that next() has waited for samples, since construction.
  [[nodiscard]] double wait_s() const noexcept { return wait_s_; }

 private:
  // A micro-batch in the making.
  struct Slot {
    Slot(std::vector<std::uint64_t> which, HostMemory memory, BatchPictures pictures)
        : ordinals(std::move(which)),
          errors(ordinals.size()),
          assembler(ordinals.size(), memory, pictures) {}
    std::vector<std::uint64_t> ordinals;
    std::vector<std::exception_ptr> errors;
    BatchAssembler assembler;
    std::size_t taken = 0;  // by workers
    std::size_t done = 0;
  };

  void load(Slot& slot, std::size_t position) const;
  void work();
  void refill();       // with the lock held
  Slot* slot_to_do();  // with the lock held: the first one with a position to take
  std::unique_ptr<Slot> front(std::unique_lock<std::mutex>& lock);
  void advance();

  const Dataset& dataset_;
  const SampleOrder& order_;
  const TextEmbeddings& text_;
  const LoaderOptions options_;
  const std::size_t num_slots_;

  // Consumer only.
  std::uint64_t steps_done_ = 0;
  std::int64_t micro_steps_done_ = 0;  // of the step in hand
  double wait_s_ = 0;
  std::exception_ptr failed_;

  std::mutex mutex_;
  std::condition_variable work_to_do_;
  std::condition_variable slot_done_;
  std::deque<std::unique_ptr<Slot>> slots_;  // in order
  std::uint64_t next_step_ = 0;              // of the slot that refill makes next
  std::int64_t next_micro_step_ = 0;
  bool stop_ = false;
  std::vector<std::thread> threads_;  // last: they use all of the above
};

}  // namespace wam
