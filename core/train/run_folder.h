#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

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

// The step of the last whole line of a metrics.jsonl; nothing when there is none.
std::optional<std::int64_t> last_step(const std::filesystem::path& metrics);

// Up to `count` last lines of a text file that are not empty; none when it cannot be read.
std::vector<std::string> last_lines(const std::filesystem::path& path, std::size_t count);

}  // namespace wam
