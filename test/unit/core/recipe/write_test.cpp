#include <sstream>

#include "test/support/catch.h"
#include "test/unit/core/recipe/sections.h"

using wam::test::Everything;
using wam::test::load_text;

TEST_CASE("recipe: a dump loads back to the same recipe") {
  Everything recipe;
  recipe.outer.rate = 0.1 + 0.2;  // needs all 17 digits
  recipe.outer.workers = 4;
  recipe.outer.inner.text_encoder = "true: \"odd\" \\ text\n# 12";
  recipe.outer.items = {{.path = "/a b", .weight = 1.5}, {.path = "12", .weight = 2}};

  const auto text = wam::dump_recipe(recipe);
  const auto loaded = load_text(text);

  INFO(text);
  CHECK(loaded.problems.empty());
  CHECK(loaded.recipe.outer.rate == recipe.outer.rate);
  CHECK(loaded.recipe.outer.inner.text_encoder == recipe.outer.inner.text_encoder);
  CHECK(loaded.recipe.outer.items.at(1).path == "12");
  CHECK(wam::dump_recipe(loaded.recipe) == text);
}

TEST_CASE("recipe: the dump is plain block YAML") {
  Everything recipe;
  recipe.outer.items = {{.path = "/a", .weight = 1}};
  CHECK(wam::dump_recipe(recipe) == R"(outer:
  steps: 10
  rate: 1e-05
  fast: false
  betas: [0.9, 0.99]
  workers: auto
  items:
    - path: /a
      weight: 1
  inner:
    text_encoder: ""
    colour: red
)");
}

TEST_CASE("recipe: help documents every key within 80 columns") {
  const auto help = wam::help_recipe<Everything>();
  INFO(help);
  for (const char* key : {"outer:", "steps:", "rate:", "betas:", "workers:", "items:", "path:",
                          "weight:", "inner:", "text_encoder:", "colour:"}) {
    CHECK_THAT(help, Catch::Contains(key));
  }
  CHECK_THAT(help, Catch::Contains("steps: a whole number, at least 1 (default: 10)"));
  CHECK_THAT(help, Catch::Contains("colour: red | green (default: red)"));
  CHECK_THAT(help, Catch::Contains("Planned: ultraviolet."));
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 80);
}
