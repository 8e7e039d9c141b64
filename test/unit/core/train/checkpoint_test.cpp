#include <csignal>
#include <filesystem>

#include <sys/resource.h>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "core/io/disk.h"
#include "core/train/checkpoint_reader.h"
#include "core/train/checkpoint_verify.h"
#include "core/train/checkpoint_writer.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"
#include "test/unit/core/train/checkpoint_support.h"

namespace wam {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;
using test::fill_for_step;
using test::make_checkpoint_units;
using test::make_run;
using test::save_steps;
using test::state_bytes;

constexpr const char* kShard = "shard_00000_of_00001.safetensors";

// Saves on `num_shards` ranks.
void save_sharded(const fs::path& folder, int num_shards, std::int64_t step) {
  test::QuietLog log(folder.string() + ".log");
  test::ThreadRanks ranks(num_shards);
  const auto errors = ranks.run([&](int rank) {
    auto units = make_checkpoint_units(rank, num_shards);
    fill_for_step(units, step);
    CheckpointWriter writer({.folder = folder, .keep = 0, .exchange = ranks.exchange(rank)}, units,
                            log.log());
    writer.save(make_run(step));
    writer.wait();
  });
  REQUIRE(errors == std::vector<std::string>(static_cast<std::size_t>(num_shards)));
}

TEST_CASE("What a checkpoint holds comes back bit for bit, with everything about the run") {
  const test::TempFolder temp;
  const CheckpointFolder folder(temp.path() / "checkpoints");
  save_steps(folder.path(), {20});

  CheckpointReader reader(folder.of_step(20));
  auto units = make_checkpoint_units();
  reader.restore(units);

  auto expected = make_checkpoint_units();
  fill_for_step(expected, 20);
  CHECK(state_bytes(units) == state_bytes(expected));
  CHECK(reader.manifest().run.step == 20);
  CHECK(reader.manifest().run.applied_updates == 19);
  CHECK(reader.manifest().run.data.samples_seen == 160);
  CHECK(reader.manifest().run.recipe == make_run(20).recipe);
  CHECK(folder.latest() == "step_00000020");
  CHECK(verify_checkpoint(folder.of_step(20)).ok());
  CHECK_THAT(verify_checkpoint(folder.of_step(20)).text(),
             Contains("step 20, 1 file, ") && Contains("all hashes hold"));
}

TEST_CASE("Written by n ranks, read by m: every shard is the matching part") {
  const test::TempFolder temp;
  // With nine some hold nothing of a unit.
  for (const int writers : {1, 2, 3, 9}) {
    const CheckpointFolder folder(temp.path() / std::to_string(writers));
    save_sharded(folder.path(), writers, 7);
    REQUIRE(verify_checkpoint(folder.of_step(7)).text() ==
            verify_checkpoint(folder.of_step(7), 1).text());
    REQUIRE(verify_checkpoint(folder.of_step(7)).files == static_cast<std::size_t>(writers));
    for (const int readers : {1, 2, 3, 9}) {
      for (int i = 0; i < readers; ++i) {
        CheckpointReader reader(folder.of_step(7));
        auto units = make_checkpoint_units(i, readers);
        reader.restore(units);
        auto expected = make_checkpoint_units(i, readers);
        fill_for_step(expected, 7);
        CHECK(state_bytes(units) == state_bytes(expected));
      }
    }
  }
}

TEST_CASE("Single tensors of a checkpoint, for export") {
  const test::TempFolder temp;
  const CheckpointFolder folder(temp.path());
  save_sharded(temp.path(), 3, 5);
  CheckpointReader reader(folder.of_step(5));
  auto units = make_checkpoint_units();
  fill_for_step(units, 5);

  const at::Tensor bias = reader.read_tensor("blocks.0.b", "master");

  CHECK(bias.sizes() == at::IntArrayRef({43}));
  CHECK(bias.equal(units[0].state("master").narrow(0, 512, 43)));
  CHECK(reader.tensor_names() == std::vector<std::string>{"blocks.0.w", "blocks.0.b", "head.w"});
  CHECK_THROWS_WITH(reader.read_tensor("blocks.0.c", "master"),
                    Contains("it has no tensor blocks.0.c (nearest: blocks.0.w)"));
  CHECK_THROWS_WITH(reader.read_tensor("blocks.0.f", "master"), Contains("blocks.0.f was frozen"));
  CHECK_THROWS_WITH(reader.read_tensor("head.w", "ema"),
                    Contains("unit head has no state array ema"));
}

TEST_CASE("The newest `keep` checkpoints stay") {
  const test::TempFolder temp;
  test::QuietLog log(temp.path() / "log");
  const CheckpointFolder folder(temp.path() / "c");
  save_steps(folder.path(), {100});  // of another life of the run, after where it goes on
  auto units = make_checkpoint_units();
  {
    CheckpointWriter writer({.folder = folder.path(), .keep = 2}, units, log.log());
    for (const std::int64_t step : {10, 20, 30, 40}) writer.save(make_run(step));
    writer.wait();
  }
  CHECK(folder.steps() == std::vector<std::int64_t>{30, 40, 100});
  CHECK(folder.latest() == "step_00000040");

  int files = 0;
  folder.prune(100, 1, [&] { ++files; });  // what `latest` names stays
  CHECK(files > 0);
  CHECK(folder.steps() == std::vector<std::int64_t>{40, 100});
  CHECK_THAT(log.text(), Contains("saved ") && Contains("step_00000040 ("));
}

TEST_CASE("Leftovers of killed processes are removed at the start, and it is said") {
  const test::TempFolder temp;
  test::QuietLog log(temp.path() / "log");
  const CheckpointFolder folder(temp.path() / "c");
  save_steps(folder.path(), {10});
  make_folders(folder.path() / "step_00000020.tmp");
  write_file_atomically(folder.path() / "step_00000020.tmp" / kShard, "half");
  make_folders(folder.path() / "step_00000005.deleting");
  write_file_atomically(folder.path() / "notes.txt", "mine");

  auto units = make_checkpoint_units();
  const CheckpointWriter writer({.folder = folder.path(), .keep = 2}, units, log.log());

  CHECK_FALSE(fs::exists(folder.path() / "step_00000020.tmp"));
  CHECK_FALSE(fs::exists(folder.path() / "step_00000005.deleting"));
  CHECK(fs::exists(folder.path() / "notes.txt"));
  CHECK(folder.steps() == std::vector<std::int64_t>{10});
  CHECK_THAT(log.text(), Contains("removing ") && Contains("step_00000020.tmp, left by a process"));
}

TEST_CASE("A damaged checkpoint is passed over, and the reason given") {
  const test::TempFolder temp;
  const CheckpointFolder folder(temp.path());
  save_steps(temp.path(), {10, 20, 30, 40, 50});
  test::flip_byte(folder.of_step(50) / kShard, -1);
  test::flip_byte(folder.of_step(40) / "manifest.json", 40);
  fs::resize_file(folder.of_step(30) / kShard, 1000);
  fs::remove(folder.of_step(20) / kShard);

  const Resumable found = find_resumable(folder);

  REQUIRE(found.folder == folder.of_step(10));
  CHECK(found.step == 10);
  REQUIRE(found.passed_over.size() == 4);
  CHECK_THAT(found.passed_over[0].text(),
             Contains("the content of shard_00000_of_00001.safetensors has changed: "
                      "its hash is "));
  CHECK_THAT(found.passed_over[1].text(),
             Contains("manifest.json: its checksum is ") || Contains("it is not a whole manifest"));
  CHECK_THAT(found.passed_over[2].text(), Contains("has 1000 bytes, expected "));
  CHECK_THAT(found.passed_over[3].text(), Contains("cannot be opened (No such file or directory)"));
}

TEST_CASE("Every flipped byte of a checkpoint is noticed") {
  const test::TempFolder temp;
  const CheckpointFolder folder(temp.path());
  save_steps(temp.path(), {10});
  for (const char* name : {kShard, "manifest.json"}) {
    const fs::path file = folder.of_step(10) / name;
    const auto bytes = static_cast<std::int64_t>(fs::file_size(file));
    for (std::int64_t i = 0; i < bytes - 1; i += 37) {
      test::flip_byte(file, i);
      CHECK_FALSE(verify_checkpoint(folder.of_step(10), 1).ok());
      test::flip_byte(file, i);
    }
  }
  CHECK(verify_checkpoint(folder.of_step(10)).ok());
}

TEST_CASE("No checkpoint is a fresh start, only damaged ones are an error") {
  const test::TempFolder temp;
  const CheckpointFolder folder(temp.path() / "c");
  CHECK_FALSE(find_resumable(folder).folder.has_value());
  make_folders(folder.path() / "step_00000010.tmp");  // killed in its first save
  CHECK_FALSE(find_resumable(folder).folder.has_value());

  save_steps(folder.path(), {10});
  fs::remove(folder.of_step(10) / "manifest.json");
  CHECK_THROWS_AS(find_resumable(folder), DataError);
  CHECK_THROWS_WITH(find_resumable(folder),
                    Contains("there is none that is whole, and the run does not start afresh") &&
                        Contains("step_00000010: reading ") &&
                        Contains("manifest.json: the file cannot be opened") && Contains("Fix: "));
}

TEST_CASE("Checkpoints after the one that a run goes on from are set aside, not lost") {
  const test::TempFolder temp;
  const CheckpointFolder folder(temp.path() / "c");
  save_steps(folder.path(), {10, 20, 30});
  std::vector<std::string> said;

  folder.set_aside_after(10, [&](const std::string& line) { said.push_back(line); });

  CHECK(folder.steps() == std::vector<std::int64_t>{10});
  CHECK(verify_checkpoint(folder.path() / "step_00000020.set_aside").ok());
  REQUIRE(said.size() == 2);
  CHECK_THAT(said[1], Contains("step_00000030 is not used any more and now called "
                               "step_00000030.set_aside"));
  // Saving a step that is there already sets the older one aside too.
  save_steps(folder.path(), {20, 20});
  CHECK(folder.steps() == std::vector<std::int64_t>{10, 20});
  CHECK(fs::exists(folder.path() / "step_00000020.set_aside.2"));
}

TEST_CASE("A checkpoint of another model is refused, naming the differences") {
  const test::TempFolder temp;
  const CheckpointFolder folder(temp.path());
  save_steps(temp.path(), {10});
  CheckpointReader reader(folder.of_step(10));

  std::vector<Unit> units;
  units.emplace_back(make_unit("head", {{.name = "head.w", .shape = {4, 64}}}), UnitPlacement{});
  units.emplace_back(make_unit("tail", {{.name = "tail.w", .shape = {1}}}), UnitPlacement{});
  for (Unit& unit : units) unit.allocate_state();

  CHECK_THROWS_AS(reader.restore(units), DataError);
  CHECK_THROWS_WITH(
      reader.restore(units),
      Contains("it is of another model") &&
          Contains("head: head.w is trainable [3, 64] at 0 in the checkpoint, trainable [4, 64]") &&
          Contains("the checkpoint has no unit tail") && Contains("the run has no unit blocks.0"));

  std::vector<Unit> doubles;
  for (Unit& unit : make_checkpoint_units()) {
    doubles.emplace_back(unit.spec(), UnitPlacement{.state_type = at::kDouble});
    doubles.back().allocate_state();
  }
  CHECK_THROWS_WITH(reader.restore(doubles),
                    Contains("head/exp_avg is F32 in the checkpoint, F64 in the run"));
}

TEST_CASE("Opening what is not a whole checkpoint names the file") {
  const test::TempFolder temp;
  const CheckpointFolder folder(temp.path());
  save_steps(temp.path(), {10});
  fs::resize_file(folder.of_step(10) / kShard, 50);
  CHECK_THROWS_WITH(CheckpointReader(folder.of_step(10)),
                    Contains("shard_00000_of_00001.safetensors has 50 bytes, expected "));
  fs::remove(folder.of_step(10) / kShard);
  CHECK_THROWS_WITH(CheckpointReader(folder.of_step(10)), Contains("cannot be opened"));
  CHECK_THROWS_WITH(CheckpointReader(folder.of_step(11)), Contains("step_00000011/manifest.json"));
}

TEST_CASE("A full disk: the error comes with figures, and older checkpoints are untouched") {
  const test::TempFolder temp;
  CHECK_THROWS_AS(check_free_space(temp.path(), std::uint64_t{1} << 60, "saving"), DeviceError);
  CHECK_THROWS_WITH(
      check_free_space(temp.path(), std::uint64_t{1} << 60, "saving the checkpoint of step 3"),
      Contains("saving the checkpoint of step 3: it takes 1") && Contains(" free. Fix: "));

  const CheckpointFolder folder(temp.path() / "c");
  save_steps(folder.path(), {10});
  test::QuietLog log(temp.path() / "log");
  auto units = make_checkpoint_units();
  CheckpointWriter writer({.folder = folder.path(), .keep = 1}, units, log.log());
  // A limit on file size makes write() fail in the middle, as a full disk does.
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  void (*old_handler)(int) = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 4096;
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  writer.save(make_run(20));
  std::string message;
  try {
    writer.wait();
  } catch (const DeviceError& e) {
    message = e.what();
  }
  REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, old_handler);

  CHECK_THAT(message,
             Contains("writing ") && Contains("step_00000020.tmp") && Contains("File too large"));
  CHECK(find_resumable(folder).folder == folder.of_step(10));
  CHECK_FALSE(fs::exists(folder.path() / "step_00000020.tmp"));
  writer.save(make_run(20));  // and the writer works again
  writer.wait();
  CHECK(folder.steps() == std::vector<std::int64_t>{20});
}

}  // namespace
}  // namespace wam
