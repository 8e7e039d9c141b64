#include "data/dataset/scan.h"

#include <string>
#include <vector>

#include "core/io/atomic_file.h"
#include "test/support/catch.h"
#include "test/unit/data/dataset/arm_set.h"

using wam::eligible_texts;
using wam::InstructionRule;

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
    const auto scans = wam::scan_episodes(*member.reader, member.binding, rule,
                                          InstructionRule::kFirstProvided, threads);

    REQUIRE(scans.size() == 4);
    CHECK(scans[1].length == 50);
    CHECK(scans[2].starts.empty());
    CHECK(scans[2].texts.empty());
    CHECK(scans[3].texts == std::vector<std::string>{"['Reach the green block']"});
    for (const auto& scan : scans) {
      const auto labels = wam::labels_of(scan);
      CHECK(labels.size() == static_cast<std::size_t>(scan.length));
      CHECK(wam::valid_starts(labels, rule) == scan.starts);
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
  const auto scans = wam::scan_episodes(*member.reader, member.binding, rule,
                                        InstructionRule::kFirstProvided, 1);

  auto expected = wam::valid_starts(wam::labels_of(scans[1]), rule);
  CHECK(scans[0].starts == wam::valid_starts(wam::labels_of(scans[0]), rule));
  CHECK(std::erase(expected, 3) + std::erase(expected, 0) + std::erase(expected, 49) == 3);
  CHECK(scans[1].starts == expected);
}

TEST_CASE("labels come back from their runs") {
  wam::EpisodeScan scan;
  scan.length = 6;
  scan.runs = {{0, 4}, {2, 9}, {5, 4}};

  CHECK(wam::labels_of(scan) == std::vector<std::int64_t>{4, 4, 9, 9, 9, 4});
}
