// What training may do while a checkpoint is written, and what it waits for.
#include <atomic>
#include <chrono>
#include <latch>
#include <thread>

#include "core/base/errors.h"
#include "core/train/checkpoint_reader.h"
#include "core/train/checkpoint_verify.h"
#include "core/train/checkpoint_writer.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"
#include "test/unit/core/train/checkpoint_support.h"

namespace wam {
namespace {

using Catch::Contains;
using test::fill_for_step;
using test::make_checkpoint_units;
using test::make_run;

void check_holds_step(const CheckpointFolder& folder, std::int64_t step) {
  INFO("step " << step);
  auto units = make_checkpoint_units();
  CheckpointReader(folder.of_step(step)).restore(units);
  auto expected = make_checkpoint_units();
  fill_for_step(expected, step);
  CHECK(test::state_bytes(units) == test::state_bytes(expected));
}

void overwrite(std::vector<Unit>& units) {
  for (Unit& unit : units) unit.state("master").fill_(-1);
}

TEST_CASE("Training may change the state while the checkpoint is written") {
  const test::TempFolder temp;
  test::QuietLog log(temp.path() / "log");
  const CheckpointFolder folder(temp.path() / "c");
  auto units = make_checkpoint_units();
  std::latch overwritten(1);
  CheckpointWriter writer(
      {.folder = folder.path(), .keep = 0, .before_write = [&] { overwritten.wait(); }}, units,
      log.log());

  fill_for_step(units, 1);
  writer.save(make_run(1));
  CHECK(writer.is_busy());
  writer.before_update();
  overwrite(units);
  overwritten.count_down();
  fill_for_step(units, 2);
  writer.save(make_run(2));
  writer.before_update();
  overwrite(units);
  writer.wait();

  CHECK_FALSE(writer.is_busy());
  check_holds_step(folder, 1);
  check_holds_step(folder, 2);
}

TEST_CASE("State that is written in place is not changed before it has been read") {
  const test::TempFolder temp;
  test::QuietLog log(temp.path() / "log");
  const CheckpointFolder folder(temp.path() / "c");
  auto units = make_checkpoint_units();
  const auto slow = std::chrono::milliseconds(100);
  CheckpointWriter writer({.folder = folder.path(),
                           .keep = 0,
                           .in_place = true,
                           .before_write = [&] { std::this_thread::sleep_for(slow); }},
                          units, log.log());

  for (const std::int64_t step : {1, 2, 3}) {
    fill_for_step(units, step);
    writer.save(make_run(step));
    const auto start = std::chrono::steady_clock::now();
    writer.before_update();
    CHECK(std::chrono::steady_clock::now() - start > slow / 2);
    overwrite(units);
  }
  writer.wait();
  writer.before_update();  // nothing is being read

  for (const std::int64_t step : {1, 2, 3}) check_holds_step(folder, step);
}

TEST_CASE("A failed write of state in place lets training go on to where it is told") {
  const test::TempFolder temp;
  test::QuietLog log(temp.path() / "log");
  auto units = make_checkpoint_units();
  CheckpointWriter writer({.folder = temp.path() / "c",
                           .in_place = true,
                           .before_write = [] { throw DeviceError("the disk is full."); }},
                          units, log.log());

  writer.save(make_run(1));
  writer.before_update();

  CHECK_THROWS_WITH(writer.save(make_run(2)), "the disk is full.");
}

TEST_CASE("A writer tells for every array, and for the flushing, that it goes on") {
  const test::TempFolder temp;
  test::QuietLog log(temp.path() / "log");
  auto units = make_checkpoint_units();
  std::atomic<std::size_t> told = 0;
  CheckpointWriter writer({.folder = temp.path() / "c", .moved = [&] { ++told; }}, units,
                          log.log());

  writer.save(make_run(1));
  writer.wait();

  std::size_t arrays = 0;
  for (Unit& unit : units) arrays += unit.states().size();
  CHECK(told == arrays + 1);
}

TEST_CASE("A writer slower than the interval: saves wait, one after the other, and it is said") {
  const test::TempFolder temp;
  test::QuietLog log(temp.path() / "log");
  const CheckpointFolder folder(temp.path() / "c");
  auto units = make_checkpoint_units();
  std::atomic<int> writing = 0;
  std::atomic<int> most = 0;
  CheckpointWriter writer({.folder = folder.path(),
                           .keep = 0,
                           .before_write =
                               [&] {
                                 most = std::max<int>(most, ++writing);
                                 std::this_thread::sleep_for(std::chrono::milliseconds(200));
                                 --writing;
                               }},
                          units, log.log());

  for (const std::int64_t step : {1, 2, 3}) {
    fill_for_step(units, step);
    writer.save(make_run(step));
    overwrite(units);
  }
  writer.wait();

  CHECK(most == 1);
  for (const std::int64_t step : {1, 2, 3}) check_holds_step(folder, step);
  CHECK_THAT(log.text(), Contains("saving step 2 waited ") &&
                             Contains(" for the checkpoint of step 1, which was still being "
                                      "written") &&
                             Contains("saving step 3 waited "));
}

}  // namespace
}  // namespace wam
