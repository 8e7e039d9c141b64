#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/train/collectives.h"

namespace wam::test {

// Ranks of one axis that are threads of this process. The threads must not assert: Catch2 knows
// only one. Sums are in the order of the ranks, in the type that travels.
class ThreadAxis {
 public:
  explicit ThreadAxis(int size) : given_(static_cast<std::size_t>(size)) {}

  // The collectives of one rank. Each adds a line to `calls`: "all_gather the weights of blocks.0".
  // `calls` and the axis outlive what comes back.
  std::shared_ptr<Collectives> connect(int rank, std::vector<std::string>& calls);

 private:
  friend class ThreadCollectives;
  // Waits for the tensors of all ranks, calls `use` with them, and returns when all ranks have.
  // Errors: std::runtime_error when a rank does not come within ten seconds.
  void meet(int rank,
            const at::Tensor& mine,
            const std::function<void(const std::vector<at::Tensor>&)>& use);
  void wait_for_all(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable come_;
  std::vector<at::Tensor> given_;  // by rank
  std::size_t arrived_ = 0;
  std::size_t round_ = 0;
};

// Runs `work(rank)` in a thread for each rank. Errors: what the first of them threw.
void run_ranks(int count, const std::function<void(int rank)>& work);

}  // namespace wam::test
