#pragma once

#include <chrono>

#include <c10/util/intrusive_ptr.h>

#include "parallel/launch/rendezvous.h"

namespace wam {

// All ranks of this start, from their meeting until they have left. Rank 0 holds their store, so it
// leaves last.
class Gathering {
 public:
  // Returns when all ranks have come. Errors: those of `meet`.
  Gathering(const LaunchEnv& env, const RendezvousOptions& options);

  [[nodiscard]] c10d::Store& store() { return *store_; }
  [[nodiscard]] const c10::intrusive_ptr<c10d::Store>& shared_store() const { return store_; }

  // The orderly end, after which this rank uses the store no more; rank 0 waits for the others.
  // Without it (after an error) a rank just goes. Errors: CommError that names who has not left
  // within RendezvousOptions::time_limit, or says that rank 0 is gone.
  void leave();

 private:
  LaunchEnv env_;
  std::chrono::milliseconds limit_;
  c10::intrusive_ptr<c10d::Store> store_;
};

}  // namespace wam
