#include <fstream>
#include <regex>

#include "data/lerobot_writer/writer.h"
#include "test/e2e/cli/program.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"

// What a user sees who makes a mistake: what is wrong, where, how to mend it; exit code 2; within
// three seconds, before anything is computed.

namespace fs = std::filesystem;
using wam::test::Outcome;
using wam::test::run_wamtrain;

namespace {

// A dataset of one short episode. Without an action vector its table lacks the column.
void write_dataset(const fs::path& root, bool has_action) {
  using namespace wam::lerobot_writer;
  constexpr std::size_t kFrames = 48;
  Format format;
  format.robot_type = "arm";
  format.pictures = PictureLayout::kImages;
  for (const char* view : {"left", "right", "wrist"}) {
    format.cameras.push_back({std::string("observation.images.") + view, {32, 64}});
  }
  format.vectors.push_back({"observation.state", {"a", "b", "c"}});
  if (has_action) format.vectors.push_back({"action", {"a", "b", "c"}});
  Recording recording;
  recording.task = "reach";
  recording.frames = kFrames;
  recording.pictures_THWC.assign(3, std::vector<std::uint8_t>(kFrames * 32 * 64 * 3, 100));
  recording.vectors.assign(format.vectors.size(), std::vector<float>(kFrames * 3, 0.5F));
  Writer writer(root, format);
  writer.add(recording);
  writer.finish();
}

// A folder with a good dataset, `data`, and a recipe for it.
class Workplace {
 public:
  Workplace() { write_dataset(folder_.path() / "data", true); }

  // Runs the recipe with one text in it replaced.
  Outcome run(const std::string& from, const std::string& to) {
    std::string text = R"(run: {dir: run}
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
    replace(text, "TOKENIZER", std::string(WAM_SOURCE_DIR) + "/configs/tiny/tokenizer.model");
    if (!from.empty()) replace(text, from, to);
    return run_text(text);
  }
  Outcome run_text(const std::string& text) {
    std::ofstream(folder_.path() / "recipe.yaml") << text;
    return run_wamtrain({"plan", "recipe.yaml"}, folder_.path());
  }
  [[nodiscard]] const fs::path& path() const { return folder_.path(); }

 private:
  static void replace(std::string& text, const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
  }
  wam::test::TempFolder folder_;
};

void check_refused(const Outcome& done, const std::string& expected) {
  INFO(done.err);
  CHECK(done.exit_code == 2);
  CHECK(done.seconds < 3);
  CHECK_THAT(done.err, Catch::Contains(expected) && Catch::Contains("Fix: "));
  CHECK_THAT(done.err, !Catch::Contains("problems:"));  // one fault, one problem
}

}  // namespace

TEST_CASE("bad recipe: the recipe of these tests is good") {
  const auto done = Workplace().run("", "");
  INFO(done.err);
  CHECK(done.exit_code == 0);
}

TEST_CASE("bad recipe: a misspelt key two levels deep") {
  check_refused(Workplace().run("    vae: random\n", "    vae: random\n    vee: random\n"),
                "recipe.yaml:9: model.components.vee: unknown key; the nearest one is "
                "model.components.vae. Fix: write model.components.vae.");
}

TEST_CASE("bad recipe: a string where a number belongs") {
  check_refused(Workplace().run("steps: 2", "steps: \"2\""),
                "recipe.yaml:15: train.steps: found the text \"2\" in quotes, expected a whole "
                "number. Fix: write 2 without quotes.");
  check_refused(Workplace().run("steps: 2", "steps: many"),
                "recipe.yaml:15: train.steps: found many, expected a whole number.");
}

TEST_CASE("bad recipe: micro_batch 0") {
  check_refused(Workplace().run("micro_batch: 2", "micro_batch: 0"),
                "recipe.yaml:17: train.micro_batch: found 0, expected at least 1.");
}

TEST_CASE("bad recipe: an unknown preset, embodiment, strategy") {
  Workplace place;
  check_refused(place.run("tiny-5b", "tiny-6b"),
                "recipe.yaml:3: model.preset: found tiny-6b, expected one of 5b, 14b, tiny-5b, "
                "tiny-14b. Fix: use tiny-5b.");
  const auto embodiment = place.run("embodiment: tiny", "embodiment: oxe_droit");
  check_refused(embodiment, "recipe.yaml:13: data.datasets.0.embodiment: ");
  CHECK_THAT(embodiment.err, Catch::Contains("oxe_droit") && Catch::Contains("oxe_droid"));
  check_refused(place.run("no_shard", "noshard"),
                "recipe.yaml:18: parallel.strategy: found noshard, expected one of no_shard. Fix: "
                "use no_shard.");
}

TEST_CASE("bad recipe: a planned value is refused in words") {
  check_refused(Workplace().run("no_shard", "full_shard"),
                "recipe.yaml:18: parallel.strategy: full_shard is planned but not built yet. Fix: "
                "use no_shard.");
}

TEST_CASE("bad recipe: a dataset folder that does not exist") {
  check_refused(Workplace().run("path: data", "path: date"),
                "recipe.yaml:12: data.datasets.0.path: there is no folder date. Fix: ");
}

TEST_CASE("bad recipe: a dataset whose first table has no action column") {
  Workplace place;
  write_dataset(place.path() / "blind", false);
  const auto done = place.run("path: data", "path: blind");
  check_refused(done, "recipe.yaml:12: data.datasets.0.path: ");
  CHECK_THAT(done.err, Catch::Contains("blind") && Catch::Contains("no column 'action'") &&
                           Catch::Contains("observation.state"));
}

TEST_CASE("bad recipe: three faults at once are reported at once") {
  Workplace place;
  write_dataset(place.path() / "blind", false);
  const auto done = place.run_text(R"(run: {dir: run}
model:
  preset: tiny-5b
  init: random
  components: {text_encoder: random, image_encoder: random, vae: random, tokenizer: recipe.yaml}
data: {datasets: [{path: blind, embodiment: tiny}]}
train: {stepz: 2, global_batch: 4, micro_batch: 0}
)");
  INFO(done.err);
  CHECK(done.exit_code == 2);
  CHECK(done.seconds < 3);
  CHECK_THAT(done.err, Catch::Contains("3 problems:"));
  CHECK_THAT(done.err, Catch::Contains("recipe.yaml:7: train.stepz: unknown key"));
  CHECK_THAT(done.err, Catch::Contains("recipe.yaml:7: train.micro_batch: found 0"));
  CHECK_THAT(done.err, Catch::Contains("recipe.yaml:6: data.datasets.0.path: "));
}
