#pragma once

#include <chrono>
#include <filesystem>

#include <c10/util/intrusive_ptr.h>

#include "parallel/launch/launch_env.h"

namespace c10d {
class Store;  // torch/csrc/distributed/c10d/Store.hpp, for those who use what `meet` returns
}

namespace wam {

struct RendezvousOptions {
  std::filesystem::path run_dir;  // seen by all ranks
  std::chrono::milliseconds time_limit = std::chrono::minutes(5);
};

// Returns when all ranks of this start have called it: a key-value store that they share, its keys
// apart from those of other jobs and attempts. Rank 0 holds the data, so it must leave last.
//
// The ranks meet at MASTER_ADDR:MASTER_PORT where these are set (rank 0 listens there, unless
// torchrun's agent does). Otherwise rank 0 takes a free port and writes its addresses into a file
// of the run folder, which the others wait for; it is removed once all are there. What a killed
// start left behind is overwritten, and nobody joins it: its store does not answer with the file's
// token. One rank alone meets nobody and opens no port.
//
// Errors: CommError when a rank has not arrived within the limit, which names the missing ranks on
// every rank that did; when a port is taken; when two processes call themselves the same rank.
// ConfigError when the launcher names no job and no MASTER_ADDR is set. DeviceError when the file
// cannot be written.
c10::intrusive_ptr<c10d::Store> meet(const LaunchEnv& env, const RendezvousOptions& options);

}  // namespace wam
