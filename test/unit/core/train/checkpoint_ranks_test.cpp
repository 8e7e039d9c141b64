// Ranks that save together: all of a checkpoint or none of it.
#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>

#include "core/base/errors.h"
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
using test::ThreadRanks;

// A rank's part in a run of several: its shard, and whether it is the one that writes it.
struct Role {
  int shard_idx = 0;
  int num_shards = 1;
  bool writes = true;
};

// What a disk that is full on one rank says.
[[noreturn]] void fail_to_write() {
  throw DeviceError("writing shard_00001_of_00003.safetensors: No space left on device.");
}

std::vector<std::string> files_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

// Saves `steps` on ranks of these roles. `before_write` is called with rank and step.
std::vector<std::string> save_on(const fs::path& folder,
                                 const std::vector<Role>& roles,
                                 const std::vector<std::int64_t>& steps,
                                 const std::function<void(int, std::int64_t)>& before_write = {}) {
  test::QuietLog log(folder.string() + ".log");
  ThreadRanks ranks(static_cast<int>(roles.size()));
  return ranks.run([&](int rank) {
    const Role& role = roles[static_cast<std::size_t>(rank)];
    auto units = make_checkpoint_units(role.shard_idx, role.num_shards);
    std::atomic<std::int64_t> at = 0;
    CheckpointWriter writer({.folder = folder,
                             .keep = 0,
                             .writes = role.writes,
                             .exchange = ranks.exchange(rank),
                             .before_write =
                                 [&] {
                                   if (before_write) before_write(rank, at);
                                 }},
                            units, log.log());
    for (const std::int64_t step : steps) {
      writer.wait();
      at = step;
      fill_for_step(units, step);
      writer.save(make_run(step));
    }
    writer.wait();
  });
}

const std::vector<Role> kThreeShards{{0, 3}, {1, 3}, {2, 3}};

TEST_CASE("Ranks: where one rank cannot write, nothing is published and every rank learns why") {
  const test::TempFolder temp;
  const CheckpointFolder folder(temp.path() / "c");
  REQUIRE(save_on(folder.path(), kThreeShards, {10}) == std::vector<std::string>(3));
  for (const int failing : {0, 1, 2}) {
    INFO("rank " << failing);

    const auto errors = save_on(folder.path(), kThreeShards, {20, 30}, [&](int rank, auto step) {
      if (rank == failing && step == 20) fail_to_write();
    });

    for (int rank = 0; rank < 3; ++rank) {
      const std::string whose = rank == failing ? "" : fmt::format("rank {}: ", failing);
      CHECK(errors[static_cast<std::size_t>(rank)] ==
            whose + "writing shard_00001_of_00003.safetensors: No space left on device.");
    }
    CHECK(files_in(folder.path()) == std::vector<std::string>{"latest", "step_00000010"});
    CHECK(find_resumable(folder).step == 10);
  }
}

TEST_CASE("Ranks: after a failure the next save is whole again") {
  const test::TempFolder temp;
  const CheckpointFolder folder(temp.path() / "c");
  test::QuietLog log(temp.path() / "log");
  ThreadRanks ranks(2);

  const auto errors = ranks.run([&](int rank) {
    auto units = make_checkpoint_units(rank, 2);
    fill_for_step(units, 30);
    bool failed = false;
    CheckpointWriter writer({.folder = folder.path(),
                             .exchange = ranks.exchange(rank),
                             .before_write =
                                 [&] {
                                   if (rank == 1 && !std::exchange(failed, true)) fail_to_write();
                                 }},
                            units, log.log());
    writer.save(make_run(20));
    CHECK_THROWS_AS(writer.save(make_run(30)), DeviceError);  // of step 20, on both ranks
    writer.save(make_run(30));
    writer.wait();
  });

  CHECK(errors == std::vector<std::string>(2));
  CHECK(folder.steps() == std::vector<std::int64_t>{30});
  CHECK(verify_checkpoint(folder.of_step(30)).ok());
}

TEST_CASE("Ranks: where the manifest cannot be written, every rank learns it too") {
  const test::TempFolder temp;
  const CheckpointFolder folder(temp.path() / "c");

  const auto errors = save_on(folder.path(), {{0, 2}, {1, 2}}, {20}, [&](int rank, auto) {
    // Where the manifest grows before it gets its name.
    if (rank == 0) fs::create_directories(folder.temporary_of_step(20) / "manifest.json.tmp");
  });

  CHECK_THAT(errors[0], Contains("creating ") && Contains("manifest.json.tmp"));
  CHECK(errors[1] == "rank 0: " + errors[0]);
  CHECK(files_in(folder.path()).empty());
}

TEST_CASE("Ranks: of replicas one writes, and what it wrote is the whole") {
  struct Case {
    std::string name;
    std::vector<Role> roles;
    int num_shards;
  };
  const std::vector<Case> cases{
      {"no shard", {{0, 1, true}, {0, 1, false}, {0, 1, false}}, 1},
      {"hybrid", {{0, 2, true}, {1, 2, true}, {0, 2, false}, {1, 2, false}}, 2},
      {"hybrid, ranks the other way round", {{1, 2, false}, {1, 2, true}, {0, 2, true}}, 2}};
  const test::TempFolder temp;
  for (const Case& c : cases) {
    INFO(c.name);
    const CheckpointFolder folder(temp.path() / c.name);
    std::mutex mutex;
    std::vector<int> wrote;

    const auto errors = save_on(folder.path(), c.roles, {10, 20}, [&](int rank, auto step) {
      const std::lock_guard lock(mutex);
      if (step == 20) wrote.push_back(rank);
    });

    CHECK(errors == std::vector<std::string>(c.roles.size()));
    CHECK(wrote.size() == static_cast<std::size_t>(c.num_shards));
    const CheckpointCheck check = verify_checkpoint(folder.of_step(20));
    CHECK(check.ok());
    CHECK(check.files == static_cast<std::size_t>(c.num_shards));
    auto units = make_checkpoint_units();
    CheckpointReader(folder.of_step(20)).restore(units);
    auto expected = make_checkpoint_units();
    fill_for_step(expected, 20);
    CHECK(test::state_bytes(units) == test::state_bytes(expected));
  }
}

TEST_CASE("Ranks: a failure reaches replicas, which write nothing") {
  const test::TempFolder temp;
  const std::vector<Role> roles{{0, 1, true}, {0, 1, false}};

  const auto errors = save_on(temp.path() / "c", roles, {10}, [](int, auto) { fail_to_write(); });

  CHECK_THAT(errors[1], Contains("rank 0: writing "));
  CHECK(files_in(temp.path() / "c").empty());
}

TEST_CASE("Ranks: a shard that nobody writes, or two write, is a mistake of ours") {
  const test::TempFolder temp;
  const auto twice = save_on(temp.path() / "a", {{0, 1}, {0, 1}}, {10});
  CHECK_THAT(twice[0], Contains("2 ranks wrote a shard, expected one of each of 1"));
  const auto missing = save_on(temp.path() / "b", {{0, 2}, {1, 2, false}}, {10});
  CHECK_THAT(missing[0], Contains("1 ranks wrote a shard, expected one of each of 2"));
  auto units = make_checkpoint_units(1, 2);
  test::QuietLog log(temp.path() / "log");
  CHECK_THROWS_AS(CheckpointWriter({.folder = temp.path() / "c"}, units, log.log()),
                  InvariantError);
}

}  // namespace
}  // namespace wam
