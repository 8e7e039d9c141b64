#include <algorithm>
#include <cstdint>
#include <iostream>
#include <map>
#include <vector>

#include "data/dataset/scan.h"
#include "data/window/window.h"
#include "test/dataset/samples/golden_set.h"
#include "test/support/catch.h"

using wam::test::GoldenSet;

namespace {

using Frames = std::vector<std::int64_t>;

std::vector<wam::EpisodeScan> scan(const GoldenSet& set, bool bug_compatible) {
  return wam::scan_episodes(*set.reader(), wam::read_facts(*set.reader(), set.binding(), 2),
                            set.rule(bug_compatible), wam::InstructionRule::kFirst)
      .episodes;
}

// Row `index` of a stored (N, width) table; empty for a start without a window (-1).
Frames row(const std::vector<std::int16_t>& table, std::size_t index, std::size_t width) {
  Frames out;
  for (std::size_t i = 0; i < width; ++i) {
    if (table[index * width + i] >= 0) out.push_back(table[index * width + i]);
  }
  return out;
}

Frames block_starts(const Frames& action, std::int64_t horizon) {
  Frames out;
  for (std::size_t i = 0; i < action.size(); i += static_cast<std::size_t>(horizon)) {
    out.push_back(action[i]);
  }
  return out;
}

void check_lists(const GoldenSet& set) {
  const auto rule = set.rule(true);
  const auto clip = static_cast<std::size_t>(rule.clip_frames());
  const auto blocks = static_cast<std::size_t>(rule.blocks);
  const auto video = set.stored<std::int16_t>("index/video");
  const auto state = set.stored<std::int16_t>("index/state");
  const auto action = set.stored<std::int16_t>("index/action_first");
  const auto video_blocks = set.stored<std::uint8_t>("index/blocks");
  std::size_t index = 0;
  std::size_t valid = 0;
  for (const auto& episode : scan(set, true)) {
    const auto labels = wam::labels_of(episode.facts);
    for (std::int64_t f = 0; f < episode.facts.length; ++f, ++index) {
      INFO("start " << index);
      const auto window = wam::window_at(labels, f, rule).value_or(wam::Window{});
      if (!window.video.empty()) ++valid;
      REQUIRE(window.video == row(video, index, clip));
      REQUIRE(window.state == row(state, index, blocks));
      REQUIRE(block_starts(window.action, rule.horizon) == row(action, index, blocks));
      REQUIRE(wam::reference_lists(labels, f, rule).video_blocks == video_blocks[index]);
    }
  }
  CHECK(index == set.json().at("length").get<std::size_t>());
  CHECK(valid == set.json().at("valid_starts").get<std::size_t>());
}

// (N, 3): rows of video, state and action that the official sampler returns; -2 where it raises.
void check_official(const GoldenSet& set) {
  const auto rows = set.stored<std::int16_t>("index/official_rows");
  const auto rule = set.rule(true);
  std::size_t index = 0;
  for (const auto& episode : scan(set, true)) {
    const auto labels = wam::labels_of(episode.facts);
    for (std::int64_t f = 0; f < episode.facts.length; ++f, ++index) {
      INFO("start " << index);
      const auto lists = wam::reference_lists(labels, f, rule);
      if (rows[3 * index] == -2) {
        REQUIRE(lists.video.empty());
        continue;
      }
      REQUIRE(static_cast<std::int64_t>(lists.video.size()) == rows[3 * index]);
      REQUIRE(static_cast<std::int64_t>(lists.state.size()) == rows[3 * index + 1]);
      REQUIRE(static_cast<std::int64_t>(lists.action.size()) == rows[3 * index + 2]);
    }
  }
  REQUIRE(3 * index == rows.size());
}

// Whether all of the window has the instruction of its start.
bool stays_in_span(const Frames& labels, std::int64_t start, const wam::Window& window) {
  const auto is_other = [&](std::int64_t frame) {
    return labels[static_cast<std::size_t>(frame)] != labels[static_cast<std::size_t>(start)];
  };
  return std::none_of(window.video.begin(), window.video.end(), is_other) &&
         std::none_of(window.action.begin(), window.action.end(), is_other);
}

// Windows of fewer blocks: those whose three lists the official sampler returns in step, and ours
// beside them where all of the window has the instruction of its start. By number of blocks, how
// many.
std::map<std::int64_t, int> check_partial(const GoldenSet& set) {
  const auto rows = set.stored<std::int16_t>("index/official_rows");
  wam::WindowRule official = set.rule(true);
  wam::WindowRule ours = set.rule(false);
  official.sampling = ours.sampling = wam::Sampling::kMultiAnchorPartial;
  const auto frames = static_cast<std::int64_t>(official.offsets.size());
  std::map<std::int64_t, int> count;
  std::size_t index = 0;
  for (const auto& episode : scan(set, true)) {
    const auto labels = wam::labels_of(episode.facts);
    const Frames blocks = wam::blocks_by_start(labels, official);
    for (std::int64_t f = 0; f < episode.facts.length; ++f, ++index) {
      INFO("start " << index);
      const std::int64_t n = rows[3 * index + 1];
      const bool in_step =
          n > 0 && rows[3 * index] == n * frames + 1 && rows[3 * index + 2] == n * official.horizon;
      const auto window = wam::window_at(labels, f, official);
      REQUIRE(blocks[static_cast<std::size_t>(f)] == (in_step ? n : 0));
      REQUIRE(window.has_value() == in_step);
      if (!in_step) continue;
      REQUIRE(static_cast<std::int64_t>(window->state.size()) == n);
      ++count[n];
      if (!stays_in_span(labels, f, *window)) continue;
      // Where its last block has no closing frame the official sampler drops that block; ours takes
      // the anchors that have one, and so a block more.
      const auto mine = wam::window_at(labels, f, ours);
      REQUIRE(mine.has_value());
      REQUIRE(mine->state.size() >= window->state.size());
      if (mine->state.size() == window->state.size()) REQUIRE(mine == window);
    }
  }
  return count;
}

}  // namespace

TEST_CASE("the index lists of every start equal the reference's") {
  for (const auto& path : wam::test::golden_sets()) {
    const GoldenSet set(path);
    INFO(set.name());
    if (set.has("index/video")) check_lists(set);
    if (set.has("index/official_rows")) check_official(set);
  }
}

TEST_CASE("windows of 1 to K blocks are those of the official sampler") {
  for (const auto& path : wam::test::golden_sets()) {
    const GoldenSet set(path);
    if (!set.has("index/official_rows")) continue;
    INFO(set.name());
    const auto count = check_partial(set);
    std::cout << set.name() << ": starts by blocks:";
    for (const auto& [blocks, starts] : count) std::cout << " " << blocks << ": " << starts;
    std::cout << "\n";
    if (set.name() != "droid_v21.official") continue;
    // This set has episodes and instructions of every length up to K blocks.
    for (std::int64_t blocks = 1; blocks <= set.rule(true).blocks; ++blocks) {
      CHECK(count.contains(blocks));
    }
  }
}

TEST_CASE(
    "our own rule starts where the reference does within one instruction, and at windows that it "
    "throws away") {
  for (const auto& path : wam::test::golden_sets()) {
    const GoldenSet set(path);
    if (!set.has("index/video")) continue;
    INFO(set.name());
    const auto reference = scan(set, true);
    const auto ours = scan(set, false);
    std::size_t more = 0;
    std::size_t fewer = 0;
    for (std::size_t e = 0; e < ours.size(); ++e) {
      const auto labels = wam::labels_of(ours[e].facts);
      for (const auto start : reference[e].starts.values()) {
        const bool alone =
            stays_in_span(labels, start, wam::window_at(labels, start, set.rule(true)).value());
        if (alone) CHECK(ours[e].starts.contains(start));
        fewer += ours[e].starts.contains(start) ? 0U : 1U;
      }
      for (const auto start : ours[e].starts.values()) {
        more += reference[e].starts.contains(start) ? 0U : 1U;
      }
    }
    std::cout << set.name() << ": " << more << " starts more than the reference, " << fewer
              << " whose windows reach into another instruction left out\n";
  }
}
