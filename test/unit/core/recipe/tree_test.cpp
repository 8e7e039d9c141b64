#include <cstdlib>

#include "test/support/catch.h"
#include "test/unit/core/recipe/sections.h"

using wam::test::Everything;
using wam::test::load_text;
using wam::test::write_file;
using Texts = std::vector<std::string>;

TEST_CASE("recipe: --set overrides the file and is named in errors") {
  const auto loaded = load_text(
      "outer: {steps: 5, items: [{path: a}]}",
      {"outer.steps=7", "outer.betas=[0.1, 0.2]", "outer.items.0.weight=3", "outer.workers=2"});
  CHECK(loaded.problems.empty());
  CHECK(loaded.recipe.outer.steps == 7);
  CHECK(loaded.recipe.outer.betas == std::array{0.1, 0.2});
  CHECK(loaded.recipe.outer.items.at(0).weight == 3);
  CHECK(loaded.recipe.outer.workers == 2);

  const auto list = load_text("", {"outer.items=[{path: x}, {path: y, weight: 4}]"});
  CHECK(list.problems.empty());
  REQUIRE(list.recipe.outer.items.size() == 2);
  CHECK(list.recipe.outer.items[1].weight == 4);

  CHECK(load_text("", {"outer.stepz=1"}).problems ==
        Texts{"--set outer.stepz=1: outer.stepz: unknown key; the nearest one is outer.steps. "
              "Fix: write outer.steps."});
  CHECK(load_text("", {"outer.steps=0"}).problems.at(0).starts_with("--set outer.steps=0: "));
  CHECK_THAT(load_text("", {"outer.steps"}).problems.at(0),
             Catch::Contains("expected path.to.key=value"));
  CHECK_THAT(load_text("", {"outer.betas=[1"}).problems.at(0), Catch::Contains("not valid YAML"));
  CHECK_THAT(load_text("outer: {items: []}", {"outer.items.4.weight=1"}).problems.at(0),
             Catch::Contains("outer.items.4"));
}

TEST_CASE("recipe: an included file comes first, the including one wins") {
  const wam::test::TempFolder folder;
  write_file(folder.path() / "base.yaml",
             "outer: {steps: 1, rate: 0.5, items: [{path: a}, {path: b}], inner: {colour: green}}");
  write_file(folder.path() / "r.yaml",
             "outer: {steps: 2, items: [{path: c}]}\ninclude: base.yaml\n");
  wam::Problems problems("r.yaml");

  const auto recipe = wam::load_recipe<Everything>(folder.path() / "r.yaml", {}, problems);

  CHECK(problems.texts() == Texts{});
  CHECK(recipe.outer.steps == 2);
  CHECK(recipe.outer.rate == 0.5);
  CHECK(recipe.outer.inner.colour == wam::Colour::kGreen);
  REQUIRE(recipe.outer.items.size() == 1);
  CHECK(recipe.outer.items[0].path == "c");
}

TEST_CASE("recipe: ${HERE} is the folder of the file that says it") {
  const wam::test::TempFolder folder;
  std::filesystem::create_directory(folder.path() / "deep");
  write_file(folder.path() / "deep" / "base.yaml",
             "outer: {inner: {text_encoder: \"${HERE}/t\"}, items: [{path: \"${HERE}\"}]}");
  write_file(folder.path() / "r.yaml", "include: deep/base.yaml\n");
  wam::Problems problems("r.yaml");

  const auto recipe = wam::load_recipe<Everything>(folder.path() / "r.yaml", {}, problems);

  CHECK(problems.texts() == Texts{});
  CHECK(recipe.outer.inner.text_encoder == (folder.path() / "deep" / "t").string());
  CHECK(recipe.outer.items.at(0).path == folder.path() / "deep");
  CHECK_THAT(load_text("", {"outer.inner.text_encoder=${HERE}/x"}).problems.at(0),
             Catch::Contains("variable HERE is not set"));
}

TEST_CASE("recipe: a problem in an included file names that file") {
  const wam::test::TempFolder folder;
  write_file(folder.path() / "base.yaml", "outer:\n  steps: x\n");
  write_file(folder.path() / "r.yaml", "include: base.yaml\n");
  wam::Problems problems("r.yaml");

  wam::load_recipe<Everything>(folder.path() / "r.yaml", {}, problems);

  CHECK_THAT(problems.texts().at(0), Catch::Contains("base.yaml:2: outer.steps: found x"));
}

TEST_CASE("recipe: includes that go in circles or nowhere are refused") {
  const wam::test::TempFolder folder;
  write_file(folder.path() / "a.yaml", "include: b.yaml\n");
  write_file(folder.path() / "b.yaml", "include: [a.yaml]\n");
  wam::Problems circle("a.yaml");
  wam::load_recipe<Everything>(folder.path() / "a.yaml", {}, circle);
  CHECK_THAT(circle.texts().at(0),
             Catch::Contains("b.yaml:1: include: ") && Catch::Contains("includes itself"));

  CHECK_THAT(load_text("include: nothing.yaml").problems.at(0),
             Catch::Contains("r.yaml:1: cannot read the recipe nothing.yaml"));
  CHECK_THAT(load_text("include: {a: b}").problems.at(0), Catch::Contains("a file or a list"));
}

TEST_CASE("recipe: duplicate keys, bad syntax and a missing file are refused") {
  CHECK(load_text("outer:\n  steps: 1\n  rate: 2\n  steps: 3\n").problems ==
        Texts{"r.yaml:4: outer.steps: given twice, first at line 2. Fix: remove one of them."});
  CHECK_THAT(load_text("outer:\n  steps: [1\n").problems.at(0), Catch::Contains("not valid YAML"));
  CHECK_THAT(load_text("- a\n- b\n").problems.at(0), Catch::Contains("found a list of 2"));
  wam::Problems problems("none.yaml");
  wam::load_recipe<Everything>("none.yaml", {}, problems);
  CHECK(problems.texts() ==
        Texts{"none.yaml: cannot read the recipe none.yaml. Fix: check the path."});
}

TEST_CASE("recipe: an alias that contains itself is refused") {
  CHECK_THAT(load_text("outer: &a\n  inner: *a\n").problems.at(0), Catch::Contains("nested"));
}

TEST_CASE("recipe: environment variables in texts and paths") {
  ::setenv("WAM_TEST_ROOT", "/data", 1);
  ::unsetenv("WAM_TEST_NONE");
  const auto loaded = load_text(
      "outer: {items: [{path: \"${WAM_TEST_ROOT}/x/${WAM_TEST_NONE:-y}\"}], "
      "inner: {text_encoder: \"${WAM_TEST_NONE:-}\"}}");
  CHECK(loaded.problems.empty());
  CHECK(loaded.recipe.outer.items.at(0).path == "/data/x/y");
  CHECK(loaded.recipe.outer.inner.text_encoder.empty());

  CHECK(load_text("outer: {inner: {text_encoder: \"${WAM_TEST_NONE}/a\"}}").problems ==
        Texts{"r.yaml:1: outer.inner.text_encoder: the environment variable WAM_TEST_NONE is not "
              "set. Fix: export WAM_TEST_NONE=…, or write ${WAM_TEST_NONE:-default}"});
}
