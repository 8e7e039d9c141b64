#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "test/e2e/support/program.h"
#include "test/support/temp_folder.h"

namespace wam::test {

// How large the model of a test is: configs/tiny.yaml as it stands (0.4 s a step on one core), or
// with one block of frames and a batch of 4 (0.1 s).
enum class Size { kRecipe, kSmall };

// A folder with a small sample world, `data`, and runs of configs/tiny.yaml on it. One thread
// computes, one decodes; no validation.
class TinyRuns {
 public:
  explicit TinyRuns(Size size = Size::kSmall, int episodes = 3);

  [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }
  // A sample world of other content.
  void write_dataset(const std::string& name, int episodes, int seed) const;

  using Overrides = std::vector<std::string>;  // "key=value"
  // Arguments of a command that takes a recipe, for the run of that name.
  [[nodiscard]] std::vector<std::string> arguments(const std::string& command,
                                                   const std::string& run,
                                                   const Overrides& overrides) const;
  // Trains and waits.
  [[nodiscard]] Outcome train(const std::string& run,
                              const Overrides& overrides,
                              int ranks = 1) const;
  // Trains, and fails the test when that does not end well.
  Outcome must_train(const std::string& run, const Overrides& overrides, int ranks = 1) const;
  // Any command, from this folder.
  [[nodiscard]] Outcome run(const std::vector<std::string>& arguments, int ranks = 1) const;

  [[nodiscard]] std::filesystem::path checkpoint(const std::string& run, std::int64_t step) const;
  // The file with all state arrays of that step, as bytes.
  [[nodiscard]] std::string state(const std::string& run, std::int64_t step) const;
  // Step and loss of every line of metrics.jsonl, as they are written there.
  [[nodiscard]] std::vector<std::string> losses(const std::string& run) const;

 private:
  TempFolder folder_;
  Size size_;
};

std::string file_content(const std::filesystem::path& file);
// Content of every file below a folder, by relative path.
std::map<std::string, std::string> folder_content(const std::filesystem::path& folder);
// Flips a bit in the middle of a file.
void damage(const std::filesystem::path& file);
// Lines of a run's metrics.jsonl that are whole.
std::int64_t num_lines(const std::filesystem::path& file);

}  // namespace wam::test
