#include "test/e2e/cli/workplace.h"

#include <fstream>
#include <vector>

#include "data/lerobot_writer/writer.h"
#include "test/support/arm_format.h"
#include "test/support/catch.h"

namespace wam::test {
namespace {

constexpr const char* kRecipe = R"(run: {dir: run}
model:
  preset: tiny-5b
  init: random
  components:
    text_encoder: random
    image_encoder: random
    vae: random
    tokenizer: TOKENIZER
data:
  datasets:
    - path: data
      embodiment: tiny
train:
  steps: 2
  global_batch: 4
  micro_batch: 2
parallel: {strategy: no_shard}
)";

void replace(std::string& text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
}

}  // namespace

void write_dataset(const std::filesystem::path& root, bool has_action) {
  using namespace lerobot_writer;
  constexpr std::size_t kFrames = 48;
  Format format = arm_format();
  if (!has_action) format.vectors.pop_back();
  Recording recording;
  recording.task = "reach";
  recording.frames = kFrames;
  recording.pictures_THWC.assign(3, std::vector<std::uint8_t>(kFrames * 32 * 64 * 3, 100));
  recording.vectors.assign(format.vectors.size(), std::vector<float>(kFrames * 3, 0.5F));
  Writer writer(root, format);
  writer.add(recording);
  writer.finish();
}

Workplace::Workplace() {
  write_dataset(folder_.path() / "data", true);
}

void Workplace::write_recipe(const std::string& from, const std::string& to) const {
  std::string text = kRecipe;
  replace(text, "TOKENIZER", std::string(WAM_SOURCE_DIR) + "/configs/tiny/tokenizer.model");
  if (!from.empty()) replace(text, from, to);
  write_text(text);
}

void Workplace::write_text(const std::string& recipe) const {
  std::ofstream(folder_.path() / "recipe.yaml") << recipe;
}

}  // namespace wam::test
