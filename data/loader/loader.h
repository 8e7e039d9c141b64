#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/train/dataset.h"
#include "data/loader/collate.h"
#include "data/loader/order.h"

namespace wam {

struct LoaderOptions {
  BatchPlan plan;
  std::int64_t workers = 0;  // threads that decode ahead; 0: one that decodes what next() asks for
  // Samples that are begun ahead, at most: beside those handed out and those of the batch that
  // next() waits for.
  std::int64_t prefetch_samples = 1;
  Transforms transforms = Transforms::kTraining;
  HostMemory memory = HostMemory::kPageable;
  BatchPictures pictures = BatchPictures::kTransformed;  // by the workers
  // next() gives up when it has waited for so long and no sample was finished.
  std::chrono::milliseconds stall_limit = std::chrono::minutes(10);
  // Of next(): a sample that it waits for was finished; a sample takes long, which one. May be
  // empty.
  std::function<void()> moved = {};
  std::function<void(const std::string& line)> on_slow = {};
};

// Micro-batches of the run's stream of samples (order.h), decoded ahead.
//
// What comes out, to the byte, depends on the dataset, the order and the plan alone: not on the
// number of workers, on how far is read ahead, or on where a run was resumed.
// Errors: what loading a sample throws comes out of the next() whose batch needs it (the first of
// that batch), and of every later next().
// DeviceError when reading stalls: it names the sample, the file and for how long.
// Threads: one consumer. Shutdown: the destructor waits for the samples in hand, at most for the
// stall limit, and not after a stall. A thread that a file system holds back is then left behind;
// it keeps the dataset alive, and touches nothing else.
class Loader : public BatchSource {
 public:
  // `text` must outlive the loader.
  Loader(std::shared_ptr<const Dataset> dataset,
         const SampleOrder& order,
         const TextEmbeddings& text,
         const LoaderOptions& options);
  ~Loader() override;
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;
  Loader(Loader&&) = delete;
  Loader& operator=(Loader&&) = delete;

  Batch next() override;
  [[nodiscard]] std::int64_t micro_steps() const override;
  [[nodiscard]] std::uint64_t samples_consumed() const override;
  [[nodiscard]] std::uint64_t epoch_size() const override { return epoch_size_; }
  // Seconds that next() has waited for samples, since construction.
  [[nodiscard]] double wait_s() const noexcept { return wait_s_; }

 private:
  struct Slot;   // a micro-batch in the making
  struct State;  // what the threads use

  std::unique_ptr<Slot> front();
  void advance();

  const TextEmbeddings& text_;
  const std::uint64_t epoch_size_;
  const std::shared_ptr<State> state_;
  std::vector<std::thread> threads_;

  std::uint64_t steps_done_ = 0;
  std::int64_t micro_steps_done_ = 0;  // of the step in hand
  double wait_s_ = 0;
  std::exception_ptr failed_;
};

}  // namespace wam
