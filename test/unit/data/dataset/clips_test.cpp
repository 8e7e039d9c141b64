#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/base/errors.h"
#include "data/dataset/clip_table.h"
#include "data/dataset/window_dataset.h"
#include "test/support/catch.h"
#include "test/unit/data/dataset/arm_set.h"

using wam::ClipTable;
using wam::open_window_datasets;
using wam::StartFrames;
using wam::Transforms;
using wam::WindowDatasetOptions;
using wam::test::arm_member;
using wam::test::arm_options;
using Clip = ClipTable::Clip;

namespace {

struct OneSet {
  OneSet() {
    wam::test::write_arm_set(folder.path());
    member = arm_member(folder.path());
  }
  [[nodiscard]] WindowDatasetOptions options(std::int64_t augmentations) const {
    auto out = arm_options(member);
    out.augmentations = augmentations;
    return out;
  }
  [[nodiscard]] std::shared_ptr<wam::WindowDataset> open(std::int64_t augmentations) const {
    return open_window_datasets(options(augmentations)).training;
  }
  wam::test::TempFolder folder;
  wam::DatasetMember member;
};

bool same_pictures(const wam::Sample& a, const wam::Sample& b) {
  const at::Tensor x = wam::image_of(a.clip);
  const at::Tensor y = wam::image_of(b.clip);
  return x.sizes() == y.sizes() &&
         std::memcmp(x.const_data_ptr(), y.const_data_ptr(), x.nbytes()) == 0;
}

}  // namespace

TEST_CASE("clips: starts with equal frames share one, longer ones come first") {
  // Episode 0: starts 2, 3, 4, of which 2 and 4 show the same; 1: none; 2: a longer one and a
  // short.
  const std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::int64_t>> frames{
      {{0, 2}, {1, 2}}, {{0, 3}, {2, 3}}, {{0, 4}, {1, 2}}, {{2, 0}, {0, 1, 2}}, {{2, 1}, {1, 2}}};
  const ClipTable table({StartFrames({2, 3, 4}), StartFrames(), StartFrames({0, 1})},
                        [&](std::int64_t e, std::int64_t start) {
                          return frames.at({e, start});
                        });

  CHECK(table.num_starts() == 5);
  REQUIRE(table.size() == 4);
  CHECK(table.at(0) == Clip{2, 0, 3});
  CHECK(table.at(1) == Clip{0, 2, 2});
  CHECK(table.at(2) == Clip{0, 3, 2});
  CHECK(table.at(3) == Clip{2, 1, 2});
  CHECK(table.find(0, 2) == 1);
  CHECK(table.find(0, 4) == 1);
  CHECK(table.find(0, 3) == 2);
  CHECK(table.find(2, 0) == 0);
  CHECK(table.find(2, 1) == 3);
  CHECK_THROWS_AS(table.find(0, 5), wam::InvariantError);
  CHECK_THROWS_AS(table.find(1, 0), wam::InvariantError);
}

TEST_CASE("clips: every window of both splits has one, with its own frames") {
  OneSet set;
  set.member.held_back_episodes = 1;
  const auto splits = open_window_datasets(set.options(1));
  const ClipTable table = splits.training->clips(0);
  std::set<std::int64_t> seen;

  for (const auto& split : {splits.training, splits.held_back}) {
    for (std::uint64_t window = 0; window < split->size(); ++window) {
      const auto draws = split->draw(window, 0, Transforms::kEvaluation);
      const std::int64_t clip = table.find(draws.episode_idx, draws.start);
      seen.insert(clip);
      const Clip& shown = table.at(clip);
      CHECK(shown.episode_idx == draws.episode_idx);
      if (window % 7 != 0) continue;
      CHECK(same_pictures(split->make(0, splits.training->draws_of(0, shown, 0)),
                          split->load(window, 0, Transforms::kEvaluation)));
    }
  }

  CHECK(static_cast<std::int64_t>(seen.size()) == table.size());
  // Of 40, 50 and 45 frames, a clip of 33 each.
  CHECK(table.size() == (40 - 33 + 1) + (50 - 33 + 1) + (45 - 33 + 1));
  CHECK(table.num_starts() > table.size());
}

TEST_CASE("clips: whatever the sampling, a window's clip is as long as its pictures") {
  const OneSet set;
  std::vector<WindowDatasetOptions> all(3, set.options(1));
  all[0].sampling = wam::Sampling::kFixedWindow;
  all[1].sampling = wam::Sampling::kMultiAnchorPartial;
  all[2].bug_compatible = true;
  for (const auto& options : all) {
    const auto data = open_window_datasets(options).training;
    const ClipTable table = data->clips(0);
    std::set<std::int32_t> lengths;
    for (std::uint64_t window = 0; window < data->size(); window += 3) {
      const auto draws = data->draw(window, window, Transforms::kTraining);
      const Clip& clip = table.at(table.find(draws.episode_idx, draws.start));
      CHECK(clip.frames == data->recorded(0, draws).frames());
      lengths.insert(clip.frames);
    }
    CHECK((lengths.size() > 1) == (options.sampling == wam::Sampling::kMultiAnchorPartial));
  }
}

TEST_CASE("fixed augmentations: one is that of evaluation, whatever the ordinal") {
  const OneSet set;
  const auto data = set.open(1);

  for (const std::uint64_t ordinal : {0U, 1U, 77U}) {
    CHECK(same_pictures(data->load(5, ordinal, Transforms::kTraining),
                        data->load(5, 9, Transforms::kEvaluation)));
  }
}

TEST_CASE("fixed augmentations: several belong to the clip, and samples take all of them") {
  const OneSet set;
  const auto data = set.open(3);
  const ClipTable table = data->clips(0);
  std::map<std::int64_t, wam::Sample> by_augmentation;
  std::map<std::int64_t, int> times;

  for (std::uint64_t ordinal = 0; ordinal < 60; ++ordinal) {
    const auto draws = data->draw(5, ordinal, Transforms::kTraining);
    ++times[draws.augmentation];
    const auto sample = data->make(0, draws);
    const auto [at, is_new] = by_augmentation.emplace(draws.augmentation, sample);
    CHECK(same_pictures(at->second, sample));
  }

  REQUIRE(times.size() == 3);
  for (const auto& [augmentation, count] : times) CHECK(count > 8);
  CHECK(same_pictures(by_augmentation.at(0), data->load(5, 0, Transforms::kEvaluation)));
  CHECK_FALSE(same_pictures(by_augmentation.at(0), by_augmentation.at(1)));
  CHECK_FALSE(same_pictures(by_augmentation.at(1), by_augmentation.at(2)));
  // Another start of the same clip has the same pictures; evaluation has the first of them.
  const auto draws = data->draw(5, 0, Transforms::kTraining);
  const Clip& clip = table.at(table.find(draws.episode_idx, draws.start));
  for (const std::int64_t augmentation : {0, 1, 2}) {
    CHECK(same_pictures(data->make(0, data->draws_of(0, clip, augmentation)),
                        by_augmentation.at(augmentation)));
  }
  auto other = set.options(3);
  other.seed = 4;
  const auto elsewhere = open_window_datasets(other).training;
  CHECK_FALSE(
      same_pictures(elsewhere->make(0, elsewhere->draws_of(0, clip, 1)), by_augmentation.at(1)));
}

TEST_CASE("picture fingerprint: changes with what pictures follow from, and with nothing else") {
  const OneSet set;
  const auto of = [](const WindowDatasetOptions& options) {
    return nlohmann::json::parse(open_window_datasets(options).training->picture_fingerprint(0));
  };
  const auto base = of(set.options(2));
  const auto changed = [&](const std::function<void(WindowDatasetOptions&)>& change) {
    auto options = set.options(2);
    change(options);
    std::set<std::string> keys;
    const auto other = of(options);
    for (const auto& [key, value] : base.items()) {
      if (other.value(key, nlohmann::json()) != value) keys.insert(key);
    }
    return keys;
  };
  using Keys = std::set<std::string>;

  CHECK(changed([](auto& o) {
          o.members[0].weight = 3;
          o.members[0].held_back_episodes = 1;
          o.members[0].embodiment.prompt = "Now {instruction}";
          o.members[0].statistics->state.at("joint_position").q99[0] += 1;
          o.state_width = 80;
        }).empty());
  CHECK(changed([](auto& o) { o.seed = 8; }) == Keys{"seed"});
  CHECK(changed([](auto& o) { o.augmentations = 3; }) == Keys{"augmentations"});
  CHECK(changed([](auto& o) { o.view_height = 64; }) == Keys{"canvas", "placements", "view"});
  CHECK(changed([](auto& o) { o.members[0].embodiment.crop_scale = 0.9; }) == Keys{"crop_scale"});
  CHECK(changed([](auto& o) { o.members[0].embodiment.jitter.hue = 0; }) == Keys{"jitter"});
  CHECK(changed([](auto& o) { o.blocks = 3; }) == Keys{"window"});
  // One augmentation draws nothing.
  auto one = set.options(1);
  const auto without = of(one);
  one.seed = 8;
  one.members[0].embodiment.jitter.hue = 0;
  CHECK(of(one) == without);
}
