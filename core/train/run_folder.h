#pragma once

#include <cstdint>
#include <filesystem>

namespace wam {

// What `cut_metrics` did.
struct MetricsCut {
  std::int64_t kept = 0;     // lines
  std::int64_t removed = 0;  // lines after the step, and a last one that was cut off in writing
  std::int64_t validations_removed = 0;  // files
};

// Cuts a run's metrics.jsonl back to what belongs to the checkpoint of `step`: lines whose "step"
// is not greater. A last line that a killed process did not finish goes too. The file is replaced
// as a whole. Files validation/step_NNNNNNNN.json beside it that are of later steps are removed.
// What is not there needs no cut. Errors: DataError naming the line when one before the last is not
// a JSON object with a "step"; DeviceError when a file cannot be removed.
MetricsCut cut_metrics(const std::filesystem::path& path, std::int64_t step);

}  // namespace wam
