// Whatever the moment at which a process dies, there is a whole checkpoint to go on from.
#include <chrono>
#include <csignal>
#include <random>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "core/train/checkpoint_reader.h"
#include "core/train/checkpoint_verify.h"
#include "core/train/checkpoint_writer.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"
#include "test/unit/core/train/checkpoint_support.h"

namespace wam {
namespace {

using Clock = std::chrono::steady_clock;

// What the child does: goes on from what is there, and saves until it is killed.
[[noreturn]] void save_for_ever(const CheckpointFolder& folder,
                                const std::filesystem::path& log_file) {
  try {
    test::QuietLog log(log_file);
    auto units = test::make_checkpoint_units();
    std::int64_t step = find_resumable(folder).step;
    CheckpointWriter writer({.folder = folder.path(), .keep = 2}, units, log.log());
    for (;;) {
      test::fill_for_step(units, ++step);
      writer.save(test::make_run(step));
    }
  } catch (...) {
  }
  _exit(1);
}

void check_newest(const CheckpointFolder& folder, std::int64_t& newest_before) {
  const Resumable found = find_resumable(folder);  // throws when none is whole
  REQUIRE(found.passed_over.empty());
  CHECK(found.step >= newest_before);
  newest_before = found.step;
  if (!found.folder) return;
  auto units = test::make_checkpoint_units();
  CheckpointReader(*found.folder).restore(units);
  auto expected = test::make_checkpoint_units();
  test::fill_for_step(expected, found.step);
  CHECK(test::state_bytes(units) == test::state_bytes(expected));
}

TEST_CASE("Killed at any moment, there is a whole newest checkpoint") {
  const test::TempFolder temp;
  const CheckpointFolder folder(temp.path() / "checkpoints");
  std::mt19937 random(20240607);
  std::int64_t newest = 0;
  int rounds = 0;
  const auto end = Clock::now() + std::chrono::seconds(60);  // a slow disk: seconds elsewhere
  while ((rounds < 30 || newest < 20) && Clock::now() < end) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) save_for_ever(folder, temp.path() / "log");
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 150'000));
    REQUIRE(kill(child, SIGKILL) == 0);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));  // it had not ended by an error of its own
    check_newest(folder, newest);
    ++rounds;
  }
  INFO(rounds << " kills, newest checkpoint of step " << newest);
  CHECK(rounds >= 30);
  CHECK(newest >= 20);
}

}  // namespace
}  // namespace wam
