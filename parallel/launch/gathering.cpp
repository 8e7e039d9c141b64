#include "parallel/launch/gathering.h"

#include <thread>

#include <c10/util/Exception.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "core/base/errors.h"
#include "core/base/format.h"
#include "parallel/launch/rank_words.h"

namespace wam {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPollInterval{20};

std::string left_key(int rank) {
  return fmt::format("left/{}", rank);
}

void wait_for_all(c10d::Store& store, const LaunchEnv& env, std::chrono::milliseconds limit) {
  std::vector<std::string> keys;
  for (int rank = 0; rank < env.world_size; ++rank) keys.push_back(left_key(rank));
  const auto deadline = Clock::now() + limit;
  while (!store.check(keys)) {
    if (Clock::now() >= deadline) {
      std::vector<int> missing;
      for (int rank = 0; rank < env.world_size; ++rank) {
        if (!store.check({left_key(rank)})) missing.push_back(rank);
      }
      throw CommError(fmt::format(
          "rank 0 waiting for the others to leave: {} did not within {}. Fix: look for errors in "
          "the output of the missing ranks.",
          describe_ranks(missing), human_seconds(std::chrono::duration<double>(limit).count())));
    }
    std::this_thread::sleep_for(kPollInterval);
  }
}

}  // namespace

Gathering::Gathering(const LaunchEnv& env, const RendezvousOptions& options)
    : env_(env), limit_(options.time_limit), store_(meet(env, options)) {}

void Gathering::leave() {
  try {
    // `add` waits for the answer: the store has it before this process may end.
    store_->add(left_key(env_.global_rank), 1);
    if (env_.global_rank == 0) wait_for_all(*store_, env_, limit_);
  } catch (const c10::Error& error) {
    throw CommError(fmt::format(
        "rank {} leaving: the store of rank 0 cannot be used any more: {}. Fix: look for errors in "
        "the output of rank 0.",
        env_.global_rank, error.what_without_backtrace()));
  }
}

}  // namespace wam
