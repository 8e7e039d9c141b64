// Ranks as processes on this host that save together, some of which die: save_program.

#include <chrono>
#include <filesystem>
#include <list>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/train/checkpoint_reader.h"
#include "core/train/checkpoint_verify.h"
#include "test/dist/parallel/launch/rank_process.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"
#include "test/unit/core/train/checkpoint_support.h"

using wam::CheckpointFolder;
using wam::test::RankProcess;
using wam::test::TempFolder;

namespace {

struct Start {
  int ranks = 1;
  int shards = 1;
  std::int64_t last_step = 1'000'000;
};

std::list<RankProcess> start(const std::filesystem::path& folder, const Start& what) {
  const std::string port = wam::test::free_port();
  const std::vector<std::string> words{WAM_SAVE_PROGRAM, folder.string(),
                                       std::to_string(what.last_step), std::to_string(what.shards),
                                       "3000"};
  std::list<RankProcess> ranks;
  for (int rank = 0; rank < what.ranks; ++rank) {
    ranks.emplace_back(words, wam::test::by_torchrun(rank, what.ranks, port),
                       folder / ("out" + std::to_string(rank)));
  }
  return ranks;
}

// The newest whole checkpoint has every bit of its step, and nothing was passed over for it.
std::int64_t check_newest(const CheckpointFolder& folder) {
  const wam::Resumable found = wam::find_resumable(folder);
  CHECK(found.passed_over.empty());
  if (!found.folder) return 0;
  auto units = wam::test::make_checkpoint_units();
  wam::CheckpointReader(*found.folder).restore(units);
  auto expected = wam::test::make_checkpoint_units();
  wam::test::fill_for_step(expected, found.step);
  CHECK(wam::test::state_bytes(units) == wam::test::state_bytes(expected));
  return found.step;
}

}  // namespace

TEST_CASE("Save: a rank that dies at any moment costs no checkpoint, and any number goes on") {
  const TempFolder temp;
  const CheckpointFolder folder(temp.path() / "checkpoints");
  std::mt19937 random(20260131);
  std::int64_t newest = 0;
  for (const Start& what : {Start{3, 3}, Start{1, 1}, Start{4, 2}, Start{2, 2}, Start{3, 1}}) {
    auto ranks = start(temp.path(), what);
    // Until they have met, and for a random time from then on.
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (ranks.front().output().find("goes on from " + std::to_string(newest)) ==
               std::string::npos &&
           std::chrono::steady_clock::now() < limit) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 400));
    const auto victim = random() % static_cast<unsigned>(what.ranks);
    INFO(what.ranks << " ranks, " << what.shards << " shards, killed rank " << victim);

    ranks.erase(std::next(ranks.begin(), static_cast<std::ptrdiff_t>(victim)));  // SIGKILL

    for (RankProcess& rank : ranks) {
      const int code = rank.wait();
      INFO(rank.output());
      CHECK(code == 3);
    }
    const std::int64_t found = check_newest(folder);
    CHECK(found >= newest);
    newest = found;
  }
  REQUIRE(newest > 0);

  auto last = start(temp.path(), {.ranks = 4, .shards = 4, .last_step = newest + 5});
  for (RankProcess& rank : last) {
    const int code = rank.wait();
    INFO(rank.output());
    CHECK(code == 0);
  }

  CHECK(check_newest(folder) == newest + 5);
  for (const auto& entry : folder.entries()) CHECK(entry.kind == wam::CheckpointKind::kComplete);
}
