#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace wam {

// What a run left behind, read for people. Numbers that are absent, null or not finite are NaN or
// infinite. P action step · A action value

struct StepRow {
  std::int64_t step = 0;
  double epoch = 0;
  double loss = 0;
  double video_loss = 0;
  double action_loss = 0;
  double grad_norm = 0;
  double learning_rate = 0;
  double step_s = 0;
  double data_wait_s = 0;
  double checkpoint_s = 0;
  double samples_per_s = 0;
  double samples_seen = 0;
  double peak_memory_bytes = 0;
  bool skipped = false;
};

struct ValidationRow {
  std::int64_t step = 0;
  double windows = 0;
  double video_loss = 0;
  double action_loss = 0;
  double action_error = 0;       // mean absolute, normalised units
  double mean_action_error = 0;  // of always answering the mean action
  double shuffled_error = 0;     // with pictures and prompts exchanged among windows
  std::vector<std::string> action_names;
  std::vector<double> action_error_per_dim;   // normalised units
  std::vector<double> action_error_physical;  // the data's own units
};

// One held-back window: actions in the data's own units.
struct ActionWindow {
  std::int64_t dataset = 0;
  std::int64_t episode = 0;
  std::int64_t frame = 0;
  std::string prompt;
  std::vector<std::string> names;               // of the A values; may be shorter
  std::vector<std::vector<double>> truth;       // P rows of A values
  std::vector<std::vector<double>> prediction;  // the same shape
};

struct RunData {
  std::string name;  // of the folder
  std::vector<StepRow> steps;
  std::vector<ValidationRow> validations;
  std::int64_t window_step = 0;  // the step at which `windows` were predicted
  std::vector<ActionWindow> windows;
  std::string recipe;  // as it was resolved
};

// Reads metrics.jsonl, recipe.yaml and the newest file of validation/ (which may be absent). A last
// line of metrics.jsonl that is still being written is passed over; where steps repeat, the later
// lines count.
// Errors: DataError naming file and line, with a fix.
RunData read_run(const std::filesystem::path& run_folder);

// The windows of one validation/step_NNNNNNNN.json. Errors: DataError naming the file.
std::vector<ActionWindow> read_windows(const std::filesystem::path& file);

}  // namespace wam
