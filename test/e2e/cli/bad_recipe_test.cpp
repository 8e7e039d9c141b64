#include "test/e2e/cli/workplace.h"
#include "test/e2e/support/program.h"
#include "test/support/catch.h"

// What a user sees who makes a mistake: what is wrong, where, how to mend it; exit code 2; within
// three seconds, before anything is computed.

using wam::test::Outcome;
using wam::test::run_wamtrain;
using wam::test::Workplace;
using wam::test::write_dataset;

namespace {

// What the program says to the recipe with one text in it replaced.
Outcome run(const Workplace& place, const std::string& from, const std::string& to) {
  place.write_recipe(from, to);
  return run_wamtrain({"train", "recipe.yaml"}, place.path());
}

void check_refused(const Outcome& done, const std::string& expected) {
  INFO(done.err);
  CHECK(done.exit_code == 2);
  CHECK(done.seconds < 3);
  CHECK_THAT(done.err, Catch::Contains(expected) && Catch::Contains("Fix: "));
  CHECK_THAT(done.err, !Catch::Contains("problems:"));  // one fault, one problem
}

}  // namespace

TEST_CASE("bad recipe: a misspelt key two levels deep") {
  check_refused(run(Workplace(), "    vae: random\n", "    vae: random\n    vee: random\n"),
                "recipe.yaml:9: model.components.vee: unknown key; the nearest one is "
                "model.components.vae. Fix: write model.components.vae.");
}

TEST_CASE("bad recipe: a string where a number belongs") {
  check_refused(run(Workplace(), "steps: 2", "steps: \"2\""),
                "recipe.yaml:15: train.steps: found the text \"2\" in quotes, expected a whole "
                "number. Fix: write 2 without quotes.");
  check_refused(run(Workplace(), "steps: 2", "steps: many"),
                "recipe.yaml:15: train.steps: found many, expected a whole number.");
}

TEST_CASE("bad recipe: micro_batch 0") {
  check_refused(run(Workplace(), "micro_batch: 2", "micro_batch: 0"),
                "recipe.yaml:17: train.micro_batch: found 0, expected at least 1.");
}

TEST_CASE("bad recipe: an unknown preset, embodiment, strategy") {
  const Workplace place;
  check_refused(run(place, "tiny-5b", "tiny-6b"),
                "recipe.yaml:3: model.preset: found tiny-6b, expected one of 5b, 14b, tiny-5b, "
                "tiny-14b. Fix: use tiny-5b.");
  const auto embodiment = run(place, "embodiment: tiny", "embodiment: oxe_droit");
  check_refused(embodiment, "recipe.yaml:13: data.datasets.0.embodiment: ");
  CHECK_THAT(embodiment.err, Catch::Contains("oxe_droit") && Catch::Contains("oxe_droid"));
  check_refused(run(place, "no_shard", "noshard"),
                "recipe.yaml:18: parallel.strategy: found noshard, expected one of no_shard, "
                "shard_grad_op, full_shard, hybrid_shard. Fix: use no_shard.");
}

TEST_CASE("bad recipe: a planned value is refused in words") {
  check_refused(run(Workplace(), "  init: random", "  init: random\n  train: lora"),
                "recipe.yaml:5: model.train: lora is planned but not built yet. Fix: use ");
}

TEST_CASE("bad recipe: a dataset folder that does not exist") {
  check_refused(run(Workplace(), "path: data", "path: date"),
                "recipe.yaml:12: data.datasets.0.path: there is no folder date. Fix: ");
}

TEST_CASE("bad recipe: a dataset whose first table has no action column") {
  const Workplace place;
  write_dataset(place.path() / "blind", false);
  const auto done = run(place, "path: data", "path: blind");
  check_refused(done, "recipe.yaml:12: data.datasets.0.path: ");
  CHECK_THAT(done.err, Catch::Contains("blind") && Catch::Contains("no column 'action'") &&
                           Catch::Contains("observation.state"));
}

TEST_CASE("bad recipe: three faults at once are reported at once") {
  const Workplace place;
  write_dataset(place.path() / "blind", false);
  place.write_text(R"(run: {dir: run}
model:
  preset: tiny-5b
  init: random
  components: {text_encoder: random, image_encoder: random, vae: random, tokenizer: recipe.yaml}
data: {datasets: [{path: blind, embodiment: tiny}]}
train: {stepz: 2, global_batch: 4, micro_batch: 0}
)");
  const auto done = run_wamtrain({"train", "recipe.yaml"}, place.path());
  INFO(done.err);
  CHECK(done.exit_code == 2);
  CHECK(done.seconds < 3);
  CHECK_THAT(done.err, Catch::Contains("3 problems:"));
  CHECK_THAT(done.err, Catch::Contains("recipe.yaml:7: train.stepz: unknown key"));
  CHECK_THAT(done.err, Catch::Contains("recipe.yaml:7: train.micro_batch: found 0"));
  CHECK_THAT(done.err, Catch::Contains("recipe.yaml:6: data.datasets.0.path: "));
}
