#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "apps/wamtrain/recipe.h"
#include "core/recipe/reader.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"

namespace fs = std::filesystem;

namespace {

std::vector<fs::path> shipped_recipes() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(WAM_SOURCE_DIR) / "configs")) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Stands in for the weights that a recipe names.
void make_components(const fs::path& recipe_file, const fs::path& inside) {
  wam::Problems problems(recipe_file.string());
  const auto parts = wam::load_recipe<wam::Recipe>(recipe_file, {}, problems).model.components;
  for (const auto& part :
       {parts.dit, parts.text_encoder, parts.image_encoder, parts.vae, parts.tokenizer}) {
    if (!part.starts_with(inside.string())) continue;
    const bool is_file = part.ends_with(".safetensors") || part.ends_with(".model");
    fs::create_directories(is_file ? fs::path(part).parent_path() : fs::path(part));
    if (is_file) std::ofstream(part) << "x";
  }
}

}  // namespace

TEST_CASE("configs: every shipped recipe loads and resolves") {
  const wam::test::TempFolder folder;
  ::setenv("WAM_WEIGHTS", folder.path().c_str(), 1);
  ::setenv("WAM_DATA", folder.path().c_str(), 1);
  const auto files = shipped_recipes();
  REQUIRE(files.size() >= 5);

  for (const auto& file : files) {
    const wam::test::TempFolder weights;
    ::setenv("WAM_WEIGHTS", weights.path().c_str(), 1);
    make_components(file, weights.path());
    INFO(file);
    const auto recipe = wam::load_recipe_file(file, {});
    CHECK(recipe.train.options.steps > 0);
    CHECK(recipe.options.data.datasets.size() == 1);
  }
}

TEST_CASE("configs: the large recipes have the official optimizer settings") {
  const wam::test::TempFolder folder;
  ::setenv("WAM_WEIGHTS", folder.path().c_str(), 1);
  ::setenv("WAM_DATA", folder.path().c_str(), 1);
  const fs::path file = fs::path(WAM_SOURCE_DIR) / "configs" / "14b_oxe_droid.yaml";
  make_components(file, folder.path());

  const auto recipe = wam::load_recipe_file(file, {});

  CHECK(recipe.train.options.betas == std::array{0.95, 0.999});
  CHECK(recipe.train.options.learning_rate == 1e-5);
  CHECK(recipe.train.warmup_steps == 100);
  CHECK(recipe.train.options.global_batch == 8);
  CHECK(recipe.model.config.width == 5120);
}
