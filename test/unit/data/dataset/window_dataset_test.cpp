#include "data/dataset/window_dataset.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include <ATen/ops/full.h>

#include <nlohmann/json.hpp>

#include "core/base/errors.h"
#include "data/loader/loader.h"
#include "test/support/catch.h"
#include "test/unit/data/dataset/arm_set.h"

using wam::open_window_datasets;
using wam::Sample;
using wam::Transforms;
using wam::WindowDatasetOptions;
using wam::test::arm_member;
using wam::test::arm_options;

namespace {

struct OneSet {
  explicit OneSet(const wam::test::ArmSet& set = {}) {
    wam::test::write_arm_set(folder.path(), set);
    member = arm_member(folder.path());
  }
  wam::test::TempFolder folder;
  wam::DatasetMember member;
};

// Starts of 40, 50 and 45 frames with one label and four blocks of 8: all but those of which fewer
// than four anchors fit.
std::uint64_t starts_of(std::int64_t length) {
  const wam::WindowRule rule{4, 8, 8, {0, 1, 2, 3, 4, 5, 6, 7}, false};
  return wam::valid_starts(std::vector<std::int64_t>(static_cast<std::size_t>(length)), rule)
      .size();
}

bool same_bytes(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() &&
         std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0;
}

class NoText : public wam::TextEmbeddings {
 public:
  [[nodiscard]] at::Tensor rows(const std::string& /*prompt*/) const override {
    return at::full({1, 2}, 1.0, at::kBFloat16);
  }
  [[nodiscard]] std::int64_t width() const override { return 2; }
};

}  // namespace

TEST_CASE("a sample holds the window's pictures, states, actions, mask and prompt") {
  const OneSet set;
  const auto dataset = std::move(open_window_datasets(arm_options(set.member)).training);
  REQUIRE(dataset->size() == starts_of(40) + starts_of(50) + starts_of(45));
  std::uint64_t window = 0;
  while (!(dataset->identify(window) == wam::SampleId{0, 1, 3})) ++window;

  const Sample sample = dataset->load(window, 99, Transforms::kEvaluation);

  CHECK(sample.id == wam::SampleId{0, 1, 3});
  CHECK(sample.ordinal == 99);
  CHECK(sample.prompt == "Three cameras watch a small arm that shall reach the blue block.");
  const at::Tensor image_THWC = wam::image_of(sample.clip);
  REQUIRE(image_THWC.sizes() == at::IntArrayRef({33, 64, 128, 3}));
  // Episode 1, frame 3 + t; wrist (camera 2) above, left (0) and right (1) below.
  const auto level = [&](std::int64_t t, std::int64_t y, std::int64_t x, std::int64_t c) {
    return static_cast<int>(image_THWC[t][y][x][c].item<std::uint8_t>());
  };
  for (const std::int64_t t : {0, 17, 32}) {
    CHECK(level(t, 5, 100, 0) == 12);
    CHECK(level(t, 5, 100, 1) == 3 + t);
    CHECK(level(t, 5, 100, 2) == 200);
    CHECK(level(t, 40, 10, 0) == 10);
    CHECK(level(t, 40, 100, 0) == 11);
  }
  REQUIRE(sample.state_NS.sizes() == at::IntArrayRef({4, 64}));
  REQUIRE(sample.action_PA.sizes() == at::IntArrayRef({32, 32}));
  CHECK(sample.state_NS[0][3].item<float>() == 0);
  CHECK(sample.action_mask_PA[31][2].item<bool>());
  CHECK_FALSE(sample.action_mask_PA[31][3].item<bool>());
  // Relative: row j of a block is j / 8 + 0.5 above the state at its anchor.
  const auto physical = dataset->physical_actions(0, sample.action_PA);
  REQUIRE(physical.sizes() == at::IntArrayRef({32, 3}));
  CHECK(physical[8 + 5][1].item<double>() == Approx(5.0 / 8 + 0.5).epsilon(1e-6));
  CHECK(dataset->action_meaning(0).names ==
        std::vector<std::string>{"joint_position[0]", "joint_position[1]", "joint_position[2]"});
}

TEST_CASE("training draws are a function of the ordinal alone, evaluation draws nothing") {
  const OneSet set;
  const auto dataset = std::move(open_window_datasets(arm_options(set.member)).training);

  const Sample a = dataset->load(3, 10, Transforms::kTraining);
  const Sample b = dataset->load(3, 10, Transforms::kTraining);
  const Sample c = dataset->load(3, 11, Transforms::kTraining);

  CHECK(same_bytes(wam::image_of(a.clip), wam::image_of(b.clip)));
  CHECK_FALSE(same_bytes(wam::image_of(a.clip), wam::image_of(c.clip)));
  CHECK(same_bytes(a.action_PA, c.action_PA));
  CHECK(same_bytes(wam::image_of(dataset->load(3, 10, Transforms::kEvaluation).clip),
                   wam::image_of(dataset->load(3, 11, Transforms::kEvaluation).clip)));
}

TEST_CASE("held-back episodes are drawn by seed, never empty ones, and are not trained on") {
  OneSet set;
  set.member.held_back_episodes = 1;
  std::set<std::int64_t> ever;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    auto options = arm_options(set.member);
    options.seed = seed;
    const auto splits = open_window_datasets(options);
    const auto again = open_window_datasets(options);
    REQUIRE(splits.held_back);
    const auto held = splits.held_back->episodes(0);
    const auto trained = splits.training->episodes(0);
    REQUIRE(held.size() == 1);
    CHECK(held == again.held_back->episodes(0));
    CHECK(trained.size() == 2);
    CHECK(std::find(trained.begin(), trained.end(), held[0]) == trained.end());
    for (std::uint64_t w = 0; w < splits.training->size(); ++w) {
      REQUIRE(splits.training->identify(w).episode != held[0]);
    }
    CHECK(splits.held_back->prompts().size() == 1);
    CHECK(splits.training->prompts().size() == 2);
    ever.insert(held[0]);
  }
  CHECK(ever == std::set<std::int64_t>{0, 1, 3});
}

TEST_CASE("prompts are those of the windows, instructions read as the reference reads them") {
  const OneSet set;
  const auto dataset = std::move(open_window_datasets(arm_options(set.member)).training);

  CHECK(
      dataset->prompts() ==
      std::vector<std::string>{"Three cameras watch a small arm that shall reach the blue block.",
                               "Three cameras watch a small arm that shall reach the green block.",
                               "Three cameras watch a small arm that shall reach the red block."});
}

TEST_CASE(
    "bug-compatible: every frame counts, and one without a window is redrawn by the ordinal") {
  const OneSet set({.episodes = {{40, "a"}, {20, "b"}, {50, "c"}}});
  auto options = arm_options(set.member);
  options.bug_compatible = true;
  const auto dataset = std::move(open_window_datasets(options).training);
  REQUIRE(dataset->size() == 110);
  REQUIRE(dataset->identify(45) == wam::SampleId{0, 1, 5});

  std::set<std::int64_t> frames;
  for (std::uint64_t ordinal = 0; ordinal < 20; ++ordinal) {
    const auto draws = dataset->draw(45, ordinal, Transforms::kTraining);
    CHECK(draws.episode_idx != 1);
    CHECK(draws.start == dataset->draw(45, ordinal, Transforms::kTraining).start);
    frames.insert(draws.start);
  }
  CHECK(frames.size() > 5);
  CHECK(dataset->draw(3, 0, Transforms::kTraining).start == 3);
}

TEST_CASE("bug-compatible: a dataset of short episodes gives up after eight tries") {
  const OneSet set({.episodes = {{40, "a"},
                                 {33, "b"},
                                 {32, "c"},
                                 {32, "d"},
                                 {32, "e"},
                                 {32, "f"},
                                 {32, "g"},
                                 {32, "h"},
                                 {32, "i"},
                                 {32, "j"},
                                 {32, "k"},
                                 {32, "l"}}});
  auto options = arm_options(set.member);
  options.bug_compatible = true;
  const auto dataset = std::move(open_window_datasets(options).training);
  int refused = 0;
  for (std::uint64_t ordinal = 0; ordinal < 200; ++ordinal) {
    try {
      (void)dataset->draw(100, ordinal, Transforms::kTraining);
    } catch (const wam::DataError& error) {
      ++refused;
      CHECK_THAT(error.what(), Catch::Contains("8 frames in a row have no window of 4 blocks") &&
                                   Catch::Contains("Fix: data.bug_compatible: false"));
    }
  }
  CHECK(refused > 20);
}

TEST_CASE("several datasets follow each other, and name themselves") {
  const OneSet first({.episodes = {{40, "a"}}});
  const OneSet second({.episodes = {{33, "b"}, {48, "c"}}});
  auto options = arm_options(first.member);
  options.members.push_back(second.member);
  options.members[1].weight = 3;
  const auto dataset = std::move(open_window_datasets(options).training);

  REQUIRE(dataset->member_sizes() ==
          std::vector<std::uint64_t>{starts_of(40), starts_of(33) + starts_of(48)});
  CHECK(dataset->member_weights() == std::vector<double>{1, 3});
  CHECK(dataset->identify(starts_of(40) - 1).dataset == 0);
  CHECK(dataset->identify(starts_of(40)) == wam::SampleId{1, 0, 0});
  CHECK(dataset->identify(dataset->size() - 1).episode == 1);
  const Sample sample = dataset->load(dataset->size() - 1, 0, Transforms::kEvaluation);
  CHECK(sample.id.dataset == 1);
  CHECK(sample.prompt == "Three cameras watch a small arm that shall c.");
}

TEST_CASE("the fingerprint names what changed, neither the place nor the seed does") {
  const OneSet a, moved;
  const auto print = [](const WindowDatasetOptions& options) {
    return nlohmann::json::parse(open_window_datasets(options).training->fingerprint()).flatten();
  };
  const auto base = print(arm_options(a.member));
  // The keys that differ, in the order of their names.
  const auto changed = [&](const WindowDatasetOptions& options) {
    std::vector<std::string> keys;
    const auto other = print(options);
    REQUIRE(other.size() == base.size());
    for (const auto& [key, value] : base.items()) {
      if (other.at(key) != value) keys.push_back(key.substr(key.rfind('/') + 1));
    }
    return keys;
  };
  using Keys = std::vector<std::string>;
  CHECK(changed(arm_options(moved.member)).empty());
  CHECK(base.at("/datasets/0/embodiment") == "tiny");
  CHECK(base.at("/datasets/0/num_episodes") == 4);

  const OneSet longer({.episodes = {{41, "Reach the red block"},
                                    {50, "Reach the blue block"},
                                    {20, "Too short"},
                                    {45, "['Reach the green block']"}}});
  auto options = arm_options(a.member);
  options.members[0].reader = longer.member.reader;
  CHECK(changed(options) == Keys{"episodes_and_starts", "files", "num_windows"});
  const OneSet other_text({.episodes = {{40, "Reach the red brick"},
                                        {50, "Reach the blue block"},
                                        {20, "Too short"},
                                        {45, "['Reach the green block']"}}});
  options = arm_options(a.member);
  options.members[0].reader = other_text.member.reader;
  CHECK(changed(options) == Keys{"files", "instruction_texts"});
  // Other values under the same labels.
  const OneSet other_table;
  const auto table = std::filesystem::path("data/chunk-000/episode_000001.parquet");
  wam::test::write_arm_set(other_table.folder.path() / "named", {.action_key = "another_name"});
  std::filesystem::copy_file(other_table.folder.path() / "named" / table,
                             other_table.folder.path() / table,
                             std::filesystem::copy_options::overwrite_existing);
  options = arm_options(a.member);
  options.members[0].reader = other_table.member.reader;
  CHECK(changed(options) == Keys{"files"});
  options = arm_options(a.member);
  options.members[0].embodiment.crop_scale = 0.9;
  CHECK(changed(options) == Keys{"embodiment_record"});
  options = arm_options(a.member);
  options.members[0].statistics->state.at("joint_position").q99[0] += 1e-9;
  CHECK(changed(options) == Keys{"statistics"});
  options = arm_options(a.member);
  options.members[0].held_back_episodes = 1;
  CHECK(changed(options) == Keys{"num_held_back_episodes"});
  options = arm_options(a.member);
  options.view_height = 64;
  CHECK(changed(options) == Keys{"view"});
  options = arm_options(a.member);
  options.bug_compatible = true;
  CHECK(changed(options) == Keys{"bug_compatible", "episodes_and_starts", "num_windows"});
  options = arm_options(a.member);
  options.seed = 9;
  CHECK(changed(options).empty());
}

TEST_CASE("real samples come out of the loader in the same bytes with any number of workers") {
  const OneSet set;
  const auto dataset = std::move(open_window_datasets(arm_options(set.member)).training);
  const wam::SampleOrder order(dataset->member_sizes(), dataset->member_weights(), 7);
  const NoText text;
  const auto bytes_of = [&](std::int64_t workers, std::int64_t micro) {
    wam::LoaderOptions options;
    options.plan = {8, micro, 0, 1, 0, false};
    options.workers = workers;
    wam::Loader loader(dataset, order, text, options);
    std::string bytes;
    for (std::int64_t k = 0; k < 2 * loader.micro_steps(); ++k) {
      const wam::Batch batch = loader.next();
      for (std::int64_t b = 0; b < batch.size(); ++b) {
        for (const auto& tensor : {batch.image_BTHWC[b], batch.state_BNS[b], batch.action_BPA[b]}) {
          bytes.append(static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes());
        }
      }
    }
    return bytes;
  };

  const auto expected = bytes_of(0, 8);
  CHECK(bytes_of(1, 3) == expected);
  CHECK(bytes_of(8, 1) == expected);
}

TEST_CASE("batches of raw pictures become the images that the loader's threads would have made") {
  const OneSet set;
  const auto dataset = std::move(open_window_datasets(arm_options(set.member)).training);
  const wam::SampleOrder order(dataset->member_sizes(), dataset->member_weights(), 7);
  const NoText text;
  wam::LoaderOptions options;
  options.plan = {4, 2, 0, 1, 0, false};
  options.workers = 2;
  wam::Loader transformed(dataset, order, text, options);
  options.pictures = wam::BatchPictures::kRaw;
  wam::Loader raw(dataset, order, text, options);
  for (int i = 0; i < 2; ++i) {
    const wam::Batch expected = transformed.next();
    const wam::Batch found = raw.next();
    REQUIRE(found.raw.has_value());
    CHECK_FALSE(found.image_BTHWC.defined());
    CHECK_FALSE(expected.raw.has_value());
    CHECK(same_bytes(wam::images_of(*found.raw, c10::kCPU), expected.image_BTHWC));
    CHECK(same_bytes(found.action_BPA, expected.action_BPA));
  }
}
