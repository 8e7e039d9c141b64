#include "data/dataset/scan.h"

#include <string>
#include <vector>

#include "core/io/atomic_file.h"
#include "test/support/catch.h"
#include "test/unit/data/dataset/arm_set.h"

using wam::eligible_texts;
using wam::InstructionRule;

namespace {

wam::SetScan scan(const wam::DatasetMember& member,
                  const wam::WindowRule& rule,
                  std::int64_t threads) {
  return wam::scan_episodes(*member.reader,
                            wam::read_facts(*member.reader, member.binding, threads), rule,
                            InstructionRule::kFirstProvided);
}

}  // namespace

TEST_CASE("an instruction is chosen among those that were given") {
  using Texts = std::vector<std::string>;
  using Keys = std::vector<std::size_t>;
  const Texts texts = {"not provided", "", "pick", "place"};

  CHECK(eligible_texts(texts, InstructionRule::kUniformProvided) == Keys{2, 3});
  CHECK(eligible_texts(texts, InstructionRule::kFirstProvided) == Keys{2});
  CHECK(eligible_texts(texts, InstructionRule::kFirst) == Keys{0});
  const Texts none = {"", "not provided", "not provided"};
  CHECK(eligible_texts(none, InstructionRule::kUniformProvided) == Keys{1});
  CHECK(eligible_texts(none, InstructionRule::kFirstProvided) == Keys{1});
  CHECK(eligible_texts({"", ""}, InstructionRule::kUniformProvided).empty());
}

TEST_CASE("a scan finds lengths, starts and texts, the same with any number of threads") {
  const wam::test::TempFolder folder;
  wam::test::write_arm_set(folder.path());
  const auto member = wam::test::arm_member(folder.path());
  const wam::WindowRule rule{4, 8, 8, {0, 1, 2, 3, 4, 5, 6, 7}, false};
  for (const std::int64_t threads : {1, 3}) {
    const auto scans = scan(member, rule, threads).episodes;

    REQUIRE(scans.size() == 4);
    CHECK(scans[1].facts.length == 50);
    CHECK(scans[2].starts.empty());
    CHECK(scans[2].texts.empty());
    CHECK(scans[3].texts == std::vector<std::string>{"['Reach the green block']"});
    for (const auto& episode : scans) {
      const auto labels = wam::labels_of(episode.facts);
      CHECK(labels.size() == static_cast<std::size_t>(episode.facts.length));
      CHECK(wam::valid_starts(labels, rule) == episode.starts.values());
    }
  }
}

TEST_CASE("no sample starts at a frame that meta/step_filter.jsonl names") {
  const wam::test::TempFolder folder;
  wam::test::write_arm_set(folder.path());
  wam::write_file_atomically(folder.path() / "meta/step_filter.jsonl",
                             "{\"episode_index\": 1, \"step_indices\": [3, 0, 49]}\n");
  const auto member = wam::test::arm_member(folder.path());
  const wam::WindowRule rule{4, 8, 8, {0, 1, 2, 3, 4, 5, 6, 7}, false};
  const auto scans = scan(member, rule, 1).episodes;

  auto expected = wam::valid_starts(wam::labels_of(scans[1].facts), rule);
  CHECK(scans[0].starts.values() == wam::valid_starts(wam::labels_of(scans[0].facts), rule));
  CHECK(std::erase(expected, 3) + std::erase(expected, 0) + std::erase(expected, 49) == 3);
  CHECK(scans[1].starts.values() == expected);
}

TEST_CASE("labels come back from their runs") {
  wam::EpisodeFacts facts;
  facts.length = 6;
  facts.labels = {{0, 4}, {2, 9}, {5, 4}};

  CHECK(wam::labels_of(facts) == std::vector<std::int64_t>{4, 4, 9, 9, 9, 4});
}
