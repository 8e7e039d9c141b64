// save_program FOLDER LAST_STEP SHARDS LIMIT_MS: one rank of a run that goes on from the newest
// checkpoint, checks that every bit of it is there, and saves each step up to LAST_STEP. The ranks
// hold SHARDS shards; where there are more ranks, some are replicas. Exit codes as the trainer's.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "core/base/errors.h"
#include "core/train/checkpoint_reader.h"
#include "core/train/checkpoint_verify.h"
#include "core/train/checkpoint_writer.h"
#include "parallel/launch/exchange.h"
#include "parallel/launch/rendezvous.h"
#include "test/unit/core/train/checkpoint_support.h"

namespace {

using wam::test::fill_for_step;
using wam::test::make_checkpoint_units;

// The step to go on from. Errors: InvariantError when a bit of it is another.
std::int64_t restore(const wam::CheckpointFolder& folder, std::vector<wam::Unit>& units) {
  const wam::Resumable found = wam::find_resumable(folder);
  if (!found.folder) return 0;
  wam::CheckpointReader(*found.folder).restore(units);
  const auto restored = wam::test::state_bytes(units);
  fill_for_step(units, found.step);
  wam::require<wam::InvariantError>(restored == wam::test::state_bytes(units),
                                    "step {} came back with other bits", found.step);
  return found.step;
}

void run(const std::filesystem::path& path, std::int64_t last_step, int shards, int limit_ms) {
  const wam::LaunchEnv env = wam::read_launch_env(wam::process_environment());
  const auto store = wam::meet(env, {.run_dir = path});
  const wam::TextExchange exchange(store, env, std::chrono::milliseconds(limit_ms));
  const wam::CheckpointFolder folder(path / "checkpoints");
  wam::test::QuietLog log(path / fmt::format("log{}", env.global_rank));
  auto units = make_checkpoint_units(env.global_rank % shards, shards);
  std::int64_t step = restore(folder, units);
  wam::CheckpointWriter writer(
      {.folder = folder.path(),
       .keep = 2,
       .writes = env.global_rank < shards,
       .exchange = [&](const std::string& key,
                       const std::string& mine) { return exchange.all(key, mine); }},
      units, log.log());
  fmt::print("goes on from {}\n", step);
  std::fflush(stdout);
  while (step < last_step) {
    writer.before_update();
    fill_for_step(units, ++step);
    writer.save(wam::test::make_run(step));
  }
  writer.wait();
  store->add("left", 1);
  while (env.global_rank == 0 && store->add("left", 0) < env.world_size) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 5) throw wam::ConfigError("FOLDER, LAST_STEP, SHARDS and LIMIT_MS are expected");
    run(argv[1], std::atoll(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]));
    return 0;
  } catch (const wam::CommError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 3;
  } catch (const wam::DeviceError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 3;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 4;
  }
}
