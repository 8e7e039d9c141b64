#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <c10/util/intrusive_ptr.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "parallel/launch/launch_env.h"

namespace wam {

// Texts that every rank gives and all get, through the store that `meet` returns: for what ranks
// tell each other beside the training, from any thread.
//
// Threads: any, each with keys of its own; nobody holds the store while waiting. Rank 0 collects.
class TextExchange {
 public:
  TextExchange(c10::intrusive_ptr<c10d::Store> store,
               const LaunchEnv& env,
               std::chrono::milliseconds time_limit);

  // The texts of all ranks under `key`, in their order. Every rank calls it with the same key, and
  // with each key once; what was stored is removed when all have read it.
  // Errors: CommError when for the limit no rank has come, nor any said that it goes on, which
  // names those that are missing on every rank that came; when rank 0's store is gone.
  [[nodiscard]] std::vector<std::string> all(const std::string& key, const std::string& mine) const;

  // This rank is still at work on what it will give: whoever waits begins the limit anew. Cheap
  // when it is called often.
  void goes_on() const noexcept;

 private:
  class Call;

  c10::intrusive_ptr<c10d::Store> store_;
  LaunchEnv env_;
  std::chrono::milliseconds limit_;
  std::shared_ptr<std::atomic<std::int64_t>> last_told_ms_;  // by goes_on; shared by copies
};

}  // namespace wam
