#pragma once

#include <filesystem>
#include <string>

#include "test/e2e/support/program.h"
#include "test/support/temp_folder.h"

namespace wam::test {

// A dataset of one short episode for the embodiment `tiny`. Without an action vector its table
// lacks the column.
void write_dataset(const std::filesystem::path& root, bool has_action);

// A folder with a good dataset, `data`, and a recipe for it, `recipe.yaml`.
class Workplace {
 public:
  Workplace();
  // Writes the recipe, with one text in it replaced by another.
  void write_recipe(const std::string& from = "", const std::string& to = "") const;
  void write_text(const std::string& recipe) const;
  [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }

 private:
  TempFolder folder_;
};

}  // namespace wam::test
