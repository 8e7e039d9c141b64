#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/train/step_times.h"

namespace wam {

// One line of metrics.jsonl for a training step. Losses are means over the global batch.
struct StepMetrics {
  std::int64_t step = 0;  // steps completed, this one included
  double epoch = 0;       // passes over the data so far, with fraction
  double loss = 0;
  double video_loss = 0;
  double action_loss = 0;
  double grad_norm = 0;
  double learning_rate = 0;
  StepTimes times;
  double samples_per_s = 0;  // over the last steps, without checkpoints
  std::uint64_t samples_seen = 0;
  std::int64_t peak_memory_bytes = 0;
  std::string largest_unit;  // with the largest gradient norm, and that norm
  double largest_unit_norm = 0;
  bool skipped = false;                  // the update was not applied: the norm was not finite
  std::vector<std::string> samples;      // dataset/episode/frame of a skipped step
  std::int64_t num_bad_samples = 0;      // that were replaced in this step
  std::vector<std::string> bad_samples;  // dataset/episode/frame of them
};

// Errors on held-back windows. Action errors are mean absolute errors.
struct ValidationMetrics {
  std::int64_t step = 0;
  std::int64_t windows = 0;
  double video_loss = 0;
  double action_loss = 0;
  double action_error = 0;               // normalised units, over all real values
  double mean_action_error = 0;          // of always answering the windows' mean action
  std::optional<double> shuffled_error;  // of the same model with pictures and prompts exchanged
  std::vector<std::string> action_names;
  std::vector<double> action_error_per_dim;   // normalised
  std::vector<double> action_error_physical;  // in the data's own units
  double seconds = 0;
};

// The run's metrics.jsonl: one JSON object a line, appended and flushed. Numbers that are not
// finite are written as the strings "nan", "inf", "-inf" (JSON has none). Errors: DeviceError when
// writing fails.
class MetricsFile {
 public:
  explicit MetricsFile(const std::filesystem::path& path);
  ~MetricsFile();
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;
  MetricsFile(MetricsFile&&) = delete;
  MetricsFile& operator=(MetricsFile&&) = delete;

  void write(const StepMetrics& metrics);
  void write(const ValidationMetrics& metrics);

 private:
  void write_line(const std::string& line);

  std::filesystem::path path_;
  std::FILE* file_ = nullptr;
};

}  // namespace wam
