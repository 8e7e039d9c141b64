#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "data/embodiment/prompt.h"
#include "data/tokenizer/clean_text.h"
#include "data/transform/clip_draws.h"
#include "test/dataset/samples/golden_set.h"
#include "test/dataset/samples/picture_difference.h"
#include "test/support/catch.h"

using wam::test::GoldenSet;

namespace {

std::vector<nlohmann::json> calls(const nlohmann::json& sample, const std::string& name) {
  std::vector<nlohmann::json> out;
  for (const auto& draw : sample.at("draws")) {
    if (draw.at("call") == name) out.push_back(draw);
  }
  return out;
}

// The recorded draws of a sample, in our terms.
wam::SampleDraws recorded(const GoldenSet& set, const nlohmann::json& sample) {
  wam::SampleDraws draws;
  const auto number = set.json().contains("episodes")
                          ? set.json()
                                .at("episodes")[sample.at("used_episode").get<std::size_t>()]
                                .at("episode_index")
                                .get<std::int64_t>()
                          : sample.at("used_episode").get<std::int64_t>();
  while (set.reader()->episode_number(draws.episode_idx) != number) ++draws.episode_idx;
  draws.start = sample.at("used_frame").get<std::int64_t>();
  if (const auto choice = calls(sample, "random.choice"); !choice.empty()) {
    draws.language_key = choice[0].at("value").get<std::size_t>();
  }
  const auto size = set.binding().picture;
  const auto& view = set.json().at("view_size");
  const wam::ViewGeometry geometry{size.height, size.width, set.embodiment().crop_scale,
                                   view[0].get<std::int64_t>(), view[1].get<std::int64_t>()};
  if (sample.at("mode") == "eval") {
    draws.clip = wam::centre_clip(geometry);
    return draws;
  }
  const auto offsets = calls(sample, "torch.randint");
  draws.clip.top = offsets.at(0).at("value").get<std::int64_t>();
  draws.clip.left = offsets.at(1).at("value").get<std::int64_t>();
  const auto factors = calls(sample, "torch.uniform_");
  for (const auto op :
       calls(sample, "torch.randperm").at(0).at("value").get<std::vector<std::size_t>>()) {
    draws.clip.add(static_cast<wam::JitterOp>(op), factors.at(op).at("value").get<float>());
  }
  return draws;
}

void check_pictures(const GoldenSet& set, const nlohmann::json& sample, const at::Tensor& clip) {
  const bool training = sample.at("mode") == "train";
  const auto shape = sample.at("images_shape").get<std::vector<std::int64_t>>();
  REQUIRE(clip.sizes() == at::IntArrayRef(shape));
  const auto difference = wam::test::picture_difference(set, sample, clip);
  std::cout << fmt::format("{:18} {:7} block16 {:.4f} block32 {:.4f} frame mean {:.5f}", set.name(),
                           sample.at("id").get<std::string>(), difference.block16,
                           difference.block32, difference.frame_mean);
  if (!sample.at("png_frames").empty()) {
    std::cout << fmt::format(" pixel {} share {:.2e}", difference.pixel, difference.share);
  }
  std::cout << "\n";
  CHECK(difference.block16 <= 0.6);
  CHECK(difference.block32 <= 0.6);
  CHECK(difference.frame_mean <= 0.06);
  CHECK(difference.pixel <= 1);
  if (training) CHECK(difference.share <= 1e-3);
}

// float32 bit for bit; against the official pipeline's float64 within its distance to float32.
void check_vector(const GoldenSet& set, const std::string& tensor, const at::Tensor& ours) {
  const float* values = ours.const_data_ptr<float>();
  if (!set.official()) {
    const auto expected = set.stored<float>(tensor);
    REQUIRE(static_cast<std::int64_t>(expected.size()) == ours.numel());
    CHECK(std::memcmp(values, expected.data(), expected.size() * sizeof(float)) == 0);
    return;
  }
  const auto expected = set.stored<double>(tensor);
  REQUIRE(static_cast<std::int64_t>(expected.size()) == ours.numel());
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(values[i]) - expected[i]));
  }
  CHECK(worst <= 4.4e-7);
}

void check_sample(const GoldenSet& set,
                  const wam::WindowDataset& dataset,
                  const nlohmann::json& sample) {
  const auto id = sample.at("id").get<std::string>();
  INFO(id);
  const wam::Sample ours = dataset.make(0, recorded(set, sample));

  CHECK(ours.id.frame == sample.at("used_frame").get<std::int64_t>());
  check_pictures(set, sample, wam::image_of(ours.clip));
  check_vector(set, id + "/state", ours.state_NS);
  check_vector(set, id + "/action", ours.action_PA);
  const auto mask = set.stored<std::uint8_t>(id + "/action_mask");
  REQUIRE(static_cast<std::int64_t>(mask.size()) == ours.action_mask_PA.numel());
  CHECK(std::memcmp(ours.action_mask_PA.const_data_ptr<bool>(), mask.data(), mask.size()) == 0);
  CHECK(ours.has_real_action == sample.at("has_real_action").get<bool>());
  if (sample.contains("prompt")) CHECK(ours.prompt == sample.at("prompt").get<std::string>());
  CHECK(wam::clean_text(ours.prompt) == sample.at("prompt_clean").get<std::string>());
}

}  // namespace

TEST_CASE("samples equal the reference's, its recorded draws fed in") {
  for (const auto& path : wam::test::golden_sets()) {
    const GoldenSet set(path);
    INFO(set.name());
    const auto dataset = set.open();
    for (const auto& sample : set.json().at("samples")) check_sample(set, *dataset, sample);
  }
}

TEST_CASE("state masks of the reference cover exactly the state's width") {
  for (const auto& path : wam::test::golden_sets()) {
    const GoldenSet set(path);
    INFO(set.name());
    for (const auto& sample : set.json().at("samples")) {
      const auto mask =
          set.stored<std::uint8_t>(sample.at("id").get<std::string>() + "/state_mask");
      for (std::size_t i = 0; i < mask.size(); ++i) {
        REQUIRE(mask[i] == (static_cast<std::int64_t>(i % 64) < set.binding().state_width()));
      }
    }
  }
}

TEST_CASE("instructions and their cleaning equal the reference's, or are refused in words") {
  const auto file = wam::test::samples_folder() / "order.json";
  if (!std::filesystem::exists(file)) {
    std::cout << "SKIPPED: no " << file.string() << "\n";
    return;
  }
  int refused = 0;
  const auto order = nlohmann::json::parse(wam::read_file(file));
  for (const auto& entry : order.at("instruction")) {
    const auto text = entry.at("text").get<std::string>();
    INFO(text);
    if (entry.contains("raises")) {
      CHECK_THROWS_AS(wam::instruction_of(text), wam::DataError);
      continue;
    }
    try {
      const auto instruction = wam::instruction_of(text);
      CHECK(instruction == entry.at("instruction").get<std::string>());
      CHECK(wam::clean_text(instruction) == entry.at("clean").get<std::string>());
    } catch (const wam::DataError& error) {
      ++refused;
      std::cout << "refused: " << error.what() << "\n";
    }
  }
  CHECK(refused <= 1);
}
