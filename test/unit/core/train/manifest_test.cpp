#include "core/train/manifest.h"

#include "core/base/errors.h"
#include "test/support/catch.h"

namespace wam {
namespace {

Manifest make_manifest() {
  Manifest m;
  m.run.step = 20;
  m.run.applied_updates = 19;
  m.run.data = {.samples_seen = 160,
                .epoch = 1.0 / 3,
                .fingerprint = "abc",
                .order = "in turns",
                .bad_windows = {"0/1/2", "1/0/5"}};
  m.run.seed = 0xFFFF'FFFF'FFFF'FFFFULL;
  m.run.generator = "philox";
  m.run.global_batch = 8;
  m.run.world_size = 2;
  m.run.threads = 4;
  m.run.program = "wamtrain 1 (\xc3\xa9)";
  m.run.recipe = "train:\n  steps: 20\n";
  m.run.recipe_hash = "0011";
  m.run.model = R"({"preset":"tiny-5b","dims":{"d":96}})";
  m.run.frozen = {{.component = "vae", .source = "random", .hash = ""}};
  m.run.extra = R"({"losses":[0.1,1e-30]})";
  m.units.push_back(
      describe_unit(make_unit("head", {{.name = "w", .shape = {3, 64}},
                                       {.name = "b", .shape = {3}},
                                       {.name = "f", .shape = {2}, .trainable = false}}),
                    2, at::kFloat));
  m.files = {{.name = "shard_00000_of_00002.safetensors", .bytes = 12, .xxh3 = "00"},
             {.name = "shard_00001_of_00002.safetensors", .bytes = 13, .xxh3 = "01"}};
  return m;
}

ExpectedRun expected_of(const RunState& run) {
  return {.model = run.model,
          .data_fingerprint = run.data.fingerprint,
          .data_order = run.data.order,
          .seed = run.seed,
          .generator = run.generator,
          .global_batch = run.global_batch,
          .recipe_hash = run.recipe_hash,
          .recipe = {},
          .world_size = run.world_size,
          .threads = run.threads};
}

TEST_CASE("A manifest read back says the same") {
  const Manifest m = make_manifest();
  const std::string text = manifest_text(m);

  const Manifest back = parse_manifest(text, "manifest.json");

  CHECK(manifest_text(back) == text);
  CHECK(back.run.step == 20);
  CHECK(back.run.applied_updates == 19);
  CHECK(back.run.data == m.run.data);
  CHECK(back.run.seed == m.run.seed);
  CHECK(back.run.recipe == m.run.recipe);
  CHECK(back.run.program == m.run.program);
  CHECK(back.run.model == m.run.model);
  CHECK(back.run.extra == m.run.extra);
  CHECK(back.run.frozen == m.run.frozen);
  CHECK(back.files == m.files);
  CHECK(back.unit("head").held == m.units[0].held);
  CHECK(back.unit("head").arrays.at("exp_avg_sq") == "F32");
  CHECK_THROWS_WITH(back.unit("haed"), Catch::Contains("no unit named haed (nearest: head)"));
}

TEST_CASE("Any changed or missing byte of a manifest is noticed") {
  const std::string text = manifest_text(make_manifest());
  int harmless = 0;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    try {
      const Manifest m = parse_manifest(damaged, "m");
      CHECK(manifest_text(m) == text);
      ++harmless;
    } catch (const DataError&) {
    }
  }
  CHECK(harmless == 0);
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{1}, text.size() / 2, text.size() - 2}) {
    CHECK_THROWS_WITH(parse_manifest(text.substr(0, length), "x/manifest.json"),
                      Catch::Contains("reading x/manifest.json: it is not a whole manifest"));
  }
  std::string other = text;
  other.replace(other.find("\"step\": 20"), 10, "\"step\": 21");
  CHECK_THROWS_WITH(parse_manifest(other, "m"), Catch::Contains("It was changed or damaged"));
}

TEST_CASE("A manifest of a newer format is refused by name") {
  Manifest m = make_manifest();
  m.format = 7;
  CHECK_THROWS_WITH(parse_manifest(manifest_text(m), "m"),
                    Catch::Contains("it has format 7, this program reads format 1"));
}

TEST_CASE("A run that does not match its checkpoint is refused, each difference with both values") {
  const RunState saved = make_manifest().run;
  ExpectedRun run = expected_of(saved);
  CHECK(compare_run(saved, run).refused.empty());
  CHECK(compare_run(saved, run).notes.empty());

  run.model = R"({"dims":{"d":128,"f":1},"preset":"tiny-5b"})";
  run.data_fingerprint = "abd";
  run.seed = 7;
  run.global_batch = 16;
  run.threads = 2;
  run.world_size = 1;
  run.recipe_hash = "0012";
  const RunComparison found = compare_run(saved, run);

  REQUIRE(found.refused.size() == 5);
  CHECK(found.refused[0] == "model.dims.d: checkpoint 96, run 128");
  CHECK(found.refused[1] == "model.dims.f: checkpoint has no such value, run 1");
  CHECK(found.refused[2] == "data fingerprint: checkpoint abc, run abd");
  CHECK(found.refused[3] == "run.seed: checkpoint 18446744073709551615, run 7");
  CHECK(found.refused[4] == "train.global_batch: checkpoint 8, run 16");
  REQUIRE(found.notes.size() == 3);
  CHECK_THAT(found.notes[2], Catch::Contains("2 threads, the checkpoint was written with 4: on the "
                                             "CPU not bit for bit"));
}

TEST_CASE(
    "A checkpoint whose samples were drawn by another rule, or by one without name, is refused") {
  RunState saved = make_manifest().run;
  const ExpectedRun run = expected_of(saved);
  saved.data.order = "backwards";
  REQUIRE(compare_run(saved, run).refused.size() == 1);
  CHECK_THAT(compare_run(saved, run).refused[0],
             Catch::StartsWith("order of the samples: checkpoint backwards, run in turns; "));
  saved.data.order.clear();
  REQUIRE(compare_run(saved, run).refused.size() == 1);
  CHECK_THAT(compare_run(saved, run).refused[0], Catch::Contains("of a version that named none"));
}

TEST_CASE("A data fingerprint in JSON is compared value by value") {
  RunState saved = make_manifest().run;
  saved.data.fingerprint = R"({"blocks":4,"datasets":[{"fps":10,"texts":"a"},{"fps":5}]})";
  ExpectedRun run = expected_of(saved);
  CHECK(compare_run(saved, run).refused.empty());

  run.data_fingerprint = R"({"blocks":4,"datasets":[{"fps":20,"texts":"b"}]})";
  const RunComparison found = compare_run(saved, run);

  REQUIRE(found.refused.size() == 3);
  CHECK(found.refused[0] == "data.datasets.0.fps: checkpoint 10, run 20");
  CHECK(found.refused[1] == "data.datasets.0.texts: checkpoint \"a\", run \"b\"");
  CHECK(found.refused[2] == "data.datasets.1.fps: checkpoint 5, run has no such value");
}

TEST_CASE("A changed recipe is noted with the values that changed, else with its hash") {
  RunState saved = make_manifest().run;
  saved.recipe =
      "data:\n  datasets:\n    - path: a\n      weight: 1\n    - path: \"b: c\"\n  workers: 2\n"
      "train:\n  steps: 40\n  betas: [0.9, 0.99]\nlog:\n  every: 1\n";
  ExpectedRun run = expected_of(saved);
  run.recipe_hash = "0012";
  CHECK_THAT(compare_run(saved, run).notes.at(0), Catch::Contains("hash 0011 there, 0012 here"));

  run.recipe =
      "data:\n  datasets:\n    - path: a\n      weight: 2\n    - path: \"b: d\"\n"
      "train:\n  steps: 80\n  betas: [0.9, 0.99]\nlog:\n  every: 1\n  color: red\n";
  const RunComparison found = compare_run(saved, run);

  CHECK(found.refused.empty());
  REQUIRE(found.notes.size() == 1);
  CHECK_THAT(found.notes[0],
             Catch::Contains("(data.datasets.0.weight: 1 -> 2; data.datasets.1.path: \"b: c\" -> "
                             "\"b: d\"; data.workers: 2 -> none; train.steps: 40 -> 80; "
                             "log.color: none -> red)"));
}

TEST_CASE("A unit with other tensors, layout or arrays is named") {
  const UnitSpec saved_spec =
      make_unit("head", {{.name = "w", .shape = {3, 64}}, {.name = "b", .shape = {3}}});
  const ManifestUnit saved = describe_unit(saved_spec, 1, at::kFloat);
  CHECK(unit_differences(saved, saved_spec).empty());

  UnitSpec wanted = make_unit("head", {{.name = "w", .shape = {3, 65}},
                                       {.name = "b", .shape = {3}, .trainable = false},
                                       {.name = "c", .shape = {1}}});
  wanted.state_arrays = {"master", "ema"};
  const auto found = unit_differences(saved, wanted);

  const auto has = [&](const std::string& line) {
    return std::find(found.begin(), found.end(), line) != found.end();
  };
  CHECK(has(
      "head: w is trainable [3, 64] at 0 in the checkpoint, trainable [3, 65] at 0 in the run"));
  CHECK(has("head: b is trainable [3] at 192 in the checkpoint, frozen [3] at 320 in the run"));
  CHECK(has("head: the checkpoint has no tensor c"));
  CHECK(has("head: the checkpoint has no state array ema"));
  CHECK(has("head: the run does not keep state array exp_avg"));
  CHECK(has("head: the run does not keep state array exp_avg_sq"));
  CHECK(found.size() == 6);
}

}  // namespace
}  // namespace wam
