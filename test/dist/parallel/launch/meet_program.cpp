// meet_program RUN_DIR LIMIT_MS [ABSENT_RANK]: one rank that meets the others, greets each through
// the store and prints "rank R of N met A B C". The absent rank leaves without a word. Exit codes
// as the trainer's.

#include <cstdio>
#include <cstdlib>
#include <string>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "core/base/errors.h"
#include "parallel/launch/gathering.h"

namespace {

void run(const std::string& run_dir, int limit_ms, int absent_rank) {
  const wam::LaunchEnv env = wam::read_launch_env(wam::process_environment());
  if (env.global_rank == absent_rank) return;
  wam::Gathering gathering(env,
                           {.run_dir = run_dir, .time_limit = std::chrono::milliseconds(limit_ms)});
  c10d::Store& store = gathering.store();
  store.set(fmt::format("name/{}", env.global_rank), std::to_string(env.global_rank));
  std::string met;
  for (int rank = 0; rank < env.world_size; ++rank) {
    met += " " + store.get_to_str(fmt::format("name/{}", rank));
  }
  fmt::print("rank {} of {} met{}\n", env.global_rank, env.world_size, met);
  gathering.leave();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 3) throw wam::ConfigError("RUN_DIR and LIMIT_MS are missing");
    run(argv[1], std::atoi(argv[2]), argc > 3 ? std::atoi(argv[3]) : -1);
    return 0;
  } catch (const wam::ConfigError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  } catch (const wam::CommError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 3;
  }
}
