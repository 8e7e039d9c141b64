#include "test/support/catch.h"
#include "test/unit/core/recipe/sections.h"

using wam::test::load_text;
using Texts = std::vector<std::string>;

TEST_CASE("recipe: every kind of member is read") {
  const auto loaded = load_text(R"(
outer:
  steps: 300
  rate: 1e-4
  fast: true
  betas: [0.5, 0.75]
  workers: 3
  items:
    - {path: /data/a, weight: 2}
    - path: "quoted path"
  inner: {text_encoder: random, colour: green}
)");

  CHECK(loaded.problems.empty());
  const auto& outer = loaded.recipe.outer;
  CHECK(outer.steps == 300);
  CHECK(outer.rate == 1e-4);
  CHECK(outer.fast);
  CHECK(outer.betas == std::array{0.5, 0.75});
  CHECK(outer.workers == 3);
  REQUIRE(outer.items.size() == 2);
  CHECK(outer.items[0].path == "/data/a");
  CHECK(outer.items[0].weight == 2);
  CHECK(outer.items[1].path == "quoted path");
  CHECK(outer.items[1].weight == 1);
  CHECK(outer.inner.text_encoder == "random");
  CHECK(outer.inner.colour == wam::Colour::kGreen);
}

TEST_CASE("recipe: auto empties an optional and is refused elsewhere") {
  CHECK_FALSE(load_text("outer: {workers: auto}").recipe.outer.workers.has_value());
  CHECK(load_text("outer: {steps: auto}").problems ==
        Texts{"r.yaml:1: outer.steps: found auto, expected a whole number. "
              "Fix: see wamtrain train --help-recipe."});
}

TEST_CASE("recipe: an unknown key names the nearest one, at any depth") {
  CHECK(load_text("outer:\n  inner:\n    text_encodr: x\n").problems ==
        Texts{"r.yaml:3: outer.inner.text_encodr: unknown key; the nearest one is "
              "outer.inner.text_encoder. Fix: write outer.inner.text_encoder."});
  CHECK(load_text("steps: 4\n").problems ==
        Texts{"r.yaml:1: steps: unknown key; the nearest one is outer.steps. "
              "Fix: write outer.steps."});
  CHECK(load_text("outer: {inner: {zzzzzzzzzzz: 1}}").problems ==
        Texts{"r.yaml:1: outer.inner.zzzzzzzzzzz: unknown key, expected one of text_encoder, "
              "colour. Fix: remove it."});
}

TEST_CASE("recipe: a wrong type says what was found") {
  CHECK(load_text("outer:\n  steps: \"32\"\n").problems ==
        Texts{"r.yaml:2: outer.steps: found the text \"32\" in quotes, expected a whole number. "
              "Fix: write 32 without quotes."});
  const auto problem = [](const std::string& text) {
    const auto loaded = load_text("outer: {" + text + "}");
    REQUIRE(loaded.problems.size() == 1);
    return loaded.problems[0];
  };
  CHECK_THAT(problem("steps: many"), Catch::Contains("found many, expected a whole number"));
  CHECK_THAT(problem("steps: 1.5"), Catch::Contains("found 1.5, expected a whole number"));
  CHECK_THAT(problem("rate: fast"), Catch::Contains("found fast, expected a number"));
  CHECK_THAT(problem("rate: .inf"), Catch::Contains("found .inf, expected a number"));
  CHECK_THAT(problem("fast: 1"), Catch::Contains("found 1, expected true or false"));
  CHECK_THAT(problem("steps: [1]"), Catch::Contains("found a list of 1, expected a whole number"));
  CHECK_THAT(problem("steps:"), Catch::Contains("found nothing, expected a whole number"));
  CHECK_THAT(problem("inner: 3"), Catch::Contains("found 3, expected a section"));
  CHECK_THAT(problem("betas: [0.1]"), Catch::Contains("expected a list of 2, each a number"));
  CHECK_THAT(problem("items: {path: a}"), Catch::Contains("expected a list, each item a section"));
}

TEST_CASE("recipe: numbers out of range say the range") {
  CHECK(load_text("outer: {steps: 0}").problems ==
        Texts{"r.yaml:1: outer.steps: found 0, expected at least 1. "
              "Fix: give a value in that range."});
  CHECK_THAT(load_text("outer: {betas: [0.9, 1.0]}").problems.at(0),
             Catch::Contains("found 1, expected at least 0 and below 1"));
  CHECK_THAT(load_text("outer: {items: [{weight: 1}, {weight: 0}]}").problems.at(0),
             Catch::Contains("outer.items.1.weight: found 0, expected above 0"));
  CHECK(load_text("outer: {workers: 99999999999}").problems.size() == 1);
}

TEST_CASE("recipe: an unknown name lists the names, a planned one is refused in words") {
  CHECK(load_text("outer: {inner: {colour: gren}}").problems ==
        Texts{"r.yaml:1: outer.inner.colour: found gren, expected one of red, green. "
              "Fix: use green."});
  CHECK(load_text("outer: {inner: {colour: ultraviolet}}").problems ==
        Texts{"r.yaml:1: outer.inner.colour: ultraviolet is planned but not built yet. "
              "Fix: use red or green."});
}

TEST_CASE("recipe: all problems are reported at once") {
  const auto loaded = load_text("outer:\n  stepz: 1\n  rate: -1\n  inner: {colour: blue}\n");

  REQUIRE(loaded.problems.size() == 3);
  wam::Problems problems("r.yaml");
  for (const auto& text : loaded.problems) problems.add(wam::Origin{text, 0}, "x");
  CHECK_THROWS_AS(problems.throw_if_any(), wam::ConfigError);
  CHECK_THROWS_WITH(problems.throw_if_any(), Catch::StartsWith("3 problems:\n"));
}
