// Disks that are full, files that are damaged: what was there before stays, and the message names
// the file.
#include <filesystem>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "core/io/disk.h"
#include "core/train/checkpoint_list.h"
#include "core/train/checkpoint_space.h"
#include "core/train/checkpoint_verify.h"
#include "core/train/checkpoint_writer.h"
#include "test/support/catch.h"
#include "test/support/small_disk.h"
#include "test/support/temp_folder.h"
#include "test/unit/core/train/checkpoint_support.h"

namespace wam {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;
using test::make_checkpoint_units;
using test::make_run;
using test::save_steps;

constexpr const char* kShard = "shard_00000_of_00001.safetensors";
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// The message of what wait() throws.
std::string failure_of(CheckpointWriter& writer) {
  try {
    writer.wait();
  } catch (const DeviceError& e) {
    return e.what();
  }
  return "no DeviceError";
}

TEST_CASE("Faults: a disk without room is refused with figures before a byte is written") {
  const test::TempFolder temp;
  const test::SmallDisk disk(temp.path() / "disk", 32 * kMiB);
  if (!disk.is_there()) return;
  test::QuietLog log(temp.path() / "log");
  const CheckpointFolder folder(temp.path() / "disk/c");
  save_steps(folder.path(), {10});
  auto units = make_checkpoint_units();
  CheckpointWriter writer({.folder = folder.path(), .keep = 0}, units, log.log());

  disk.fill(kDiskReserve);
  writer.save(make_run(20));

  CHECK_THAT(failure_of(writer), Contains("saving the checkpoint of step 20: it takes ") &&
                                     Contains(" has 16") && Contains(" MiB free. Fix: free some"));
  CHECK(folder.entries().size() == 1);
  CHECK(find_resumable(folder).step == 10);
  disk.clear_filler();
  writer.save(make_run(20));
  writer.wait();
  CHECK(find_resumable(folder).step == 20);
}

TEST_CASE("Faults: a disk that fills up while a checkpoint is written leaves the old one") {
  const test::TempFolder temp;
  const test::SmallDisk disk(temp.path() / "disk", 32 * kMiB);
  if (!disk.is_there()) return;
  test::QuietLog log(temp.path() / "log");
  const CheckpointFolder folder(temp.path() / "disk/c");
  save_steps(folder.path(), {10});
  auto units = make_checkpoint_units();
  CheckpointWriter writer(
      {.folder = folder.path(), .keep = 1, .before_write = [&] { disk.fill(0); }}, units,
      log.log());

  writer.save(make_run(20));

  CHECK_THAT(failure_of(writer), Contains("step_00000020.tmp") && Contains(kShard) &&
                                     Contains("No space left on device"));
  CHECK(folder.entries().size() == 1);
  CHECK(find_resumable(folder).step == 10);
}

TEST_CASE("Faults: an empty manifest, an empty shard and one of several are named") {
  const test::TempFolder temp;
  const CheckpointFolder folder(temp.path());
  save_steps(temp.path(), {10, 20, 30});
  fs::resize_file(folder.of_step(30) / "manifest.json", 0);
  fs::resize_file(folder.of_step(20) / kShard, 0);

  const Resumable found = find_resumable(folder);

  CHECK(found.step == 10);
  REQUIRE(found.passed_over.size() == 2);
  CHECK_THAT(found.passed_over[0].text(),
             Contains("manifest.json: it is not a whole manifest (0 bytes)"));
  CHECK_THAT(found.passed_over[1].text(), Contains(kShard) && Contains("has 0 bytes, expected "));
}

TEST_CASE("Faults: hashing tells how far it is") {
  const test::TempFolder temp;
  const CheckpointFolder folder(temp.path());
  save_steps(temp.path(), {10});
  std::uint64_t last = 0;
  std::uint64_t whole = 0;

  const auto check = verify_checkpoint(folder.of_step(10), 1, [&](auto done, auto total) {
    CHECK(done > last);
    last = done;
    whole = total;
  });

  CHECK(last == check.bytes);
  CHECK(whole == check.bytes);
}

TEST_CASE("Checkpoint list: step, size, state, latest, and where a run goes on") {
  const test::TempFolder temp;
  const CheckpointFolder folder(temp.path() / "c");
  CHECK(list_checkpoints(folder, CheckpointLook::kHashes).empty());
  save_steps(folder.path(), {10, 20, 30, 40, 50});
  folder.set_aside_after(40, [](const std::string&) {});
  test::flip_byte(folder.of_step(40) / kShard, -1);
  fs::resize_file(folder.of_step(30) / kShard, 1000);
  make_folders(folder.path() / "step_00000045.tmp");
  make_folders(folder.path() / "step_00000005.deleting");
  make_folders(folder.path() / "step_7");
  write_file_atomically(folder.path() / "notes.txt", "mine");

  const auto summary = [&](CheckpointLook look) {
    std::vector<std::string> lines;
    for (const auto& listed : list_checkpoints(folder, look)) {
      lines.push_back(fmt::format("{} {}{}{}", listed.entry.step, listed.state(),
                                  listed.is_latest ? " latest" : "",
                                  listed.is_resumed ? " resumed" : ""));
    }
    return lines;
  };

  CHECK(summary(CheckpointLook::kSizes) ==
        std::vector<std::string>{"5 being deleted", "10 complete", "20 complete", "30 damaged",
                                 "40 complete resumed", "45 temporary", "50 set aside"});
  CHECK(summary(CheckpointLook::kHashes) ==
        std::vector<std::string>{"5 being deleted", "10 complete", "20 complete resumed",
                                 "30 damaged", "40 damaged", "45 temporary", "50 set aside"});
  CHECK(find_resumable(folder).step == 20);
  const auto list = list_checkpoints(folder, CheckpointLook::kHashes);
  CHECK_THAT(list[3].problem, Contains(kShard) && Contains("has 1000 bytes"));
  CHECK_THAT(list[4].problem, Contains("the content of shard_00000_of_00001.safetensors"));
  CHECK(list[1].bytes > verify_checkpoint(folder.of_step(10)).bytes);  // and its manifest
  CHECK(list[1].age_s >= 0);
  CHECK(list[1].age_s < 60);
}

TEST_CASE("Space: planned saves") {
  CHECK(planned_saves(0, 100, 0, true) == 1);
  CHECK(planned_saves(0, 100, 0, false) == 0);
  CHECK(planned_saves(0, 100, 50, true) == 2);
  CHECK(planned_saves(0, 100, 40, true) == 3);
  CHECK(planned_saves(0, 100, 40, false) == 2);
  CHECK(planned_saves(80, 100, 40, true) == 1);
  CHECK(planned_saves(79, 100, 40, true) == 2);
  CHECK(planned_saves(120, 100, 40, true) == 0);
}

TEST_CASE("Space: an error when not one fits, a warning when not all do, both with figures") {
  const std::uint64_t gib = std::uint64_t{1} << 30;
  const CheckpointNeed need{.bytes_each = 60 * gib, .saves = 100, .keep = 3, .there = 0};

  CHECK_THROWS_AS(judge_space(need, 60 * gib, "runs/a"), DeviceError);  // the reserve is missing
  CHECK_THROWS_WITH(
      judge_space(need, 40 * gib, "runs/a"),
      "checkpoints of this run: one takes 60.0 GiB, the disk under runs/a has 40.0 "
      "GiB free. Fix: free some space there, choose another run.dir, or train without "
      "checkpoints (checkpoint.every: 0 and checkpoint.at_end: false).");
  CHECK(judge_space(need, 241 * gib, "runs/a").empty());
  CHECK_THAT(judge_space(need, 200 * gib, "runs/a"),
             Contains("a checkpoint takes 60.0 GiB, 4 more will stand in runs/a at once, which has "
                      "200 GiB free. Lower checkpoint.keep to 2, or free 40.0 GiB."));

  CheckpointNeed resumed = need;
  resumed.there = 3;  // the fourth makes room for itself
  CHECK(judge_space(resumed, 61 * gib, "runs/a").empty());
  resumed.there = 7;
  CHECK(judge_space(resumed, 61 * gib, "runs/a").empty());
  CheckpointNeed last = need;
  last.saves = 1;
  CHECK(judge_space(last, 61 * gib, "runs/a").empty());
  last.saves = 0;
  CHECK(judge_space(last, 0, "runs/a").empty());
}

}  // namespace
}  // namespace wam
