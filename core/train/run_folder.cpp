#include "core/train/run_folder.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"

namespace wam {
namespace {

std::optional<std::int64_t> step_of(std::string_view line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("step") || !json["step"].is_number_integer()) {
    return std::nullopt;
  }
  return json["step"].get<std::int64_t>();
}

// The step that a record of validation windows is of.
std::optional<std::int64_t> step_of_file(const std::filesystem::path& path) {
  constexpr std::string_view kBegin = "step_";
  const std::string stem = path.stem().string();
  if (path.extension() != ".json" || !stem.starts_with(kBegin)) return std::nullopt;
  std::int64_t step = 0;
  const char* last = stem.data() + stem.size();
  const auto [end, code] = std::from_chars(stem.data() + kBegin.size(), last, step);
  return code == std::errc() && end == last ? std::optional(step) : std::nullopt;
}

// The end of a file, at most a few hundred lines of it; empty when it cannot be read.
std::string end_of(const std::filesystem::path& path) {
  constexpr std::streamoff kBytes = 1 << 16;
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) return {};
  const std::streamoff size = in.tellg();
  in.seekg(std::max<std::streamoff>(0, size - kBytes));
  std::ostringstream out;
  out << in.rdbuf();
  return std::move(out).str();
}

std::int64_t cut_validations(const std::filesystem::path& folder, std::int64_t step) {
  std::vector<std::filesystem::path> later;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (step_of_file(entry.path()).value_or(step) > step) later.push_back(entry.path());
  }
  for (const auto& path : later) {
    std::error_code error;
    std::filesystem::remove(path, error);
    require<DeviceError>(!error,
                         "going back to step {}: removing {}: {}. Fix: make it removable, or move "
                         "it away.",
                         step, path.string(), error.message());
  }
  return static_cast<std::int64_t>(later.size());
}

}  // namespace

MetricsCut cut_metrics(const std::filesystem::path& path, std::int64_t step) {
  MetricsCut cut;
  cut.validations_removed = cut_validations(path.parent_path() / "validation", step);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return cut;
  const std::string text = read_file(path);
  std::string kept;
  std::int64_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t newline = text.find('\n', begin);
    const bool whole = newline != std::string::npos;
    const std::size_t end = whole ? newline : text.size();
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    ++number;
    const auto found = step_of(line);
    const bool last = begin >= text.size();
    require<DataError>(found.has_value() || last,
                       "reading {}: line {} is not a JSON object with a step: {:.60}. Fix: remove "
                       "the line, or move the file away.",
                       path.string(), number, line);
    if (whole && found && *found <= step) {
      kept.append(line).push_back('\n');
      ++cut.kept;
    } else {
      ++cut.removed;
    }
  }
  if (cut.removed > 0) write_file_atomically(path, kept);
  return cut;
}

std::vector<std::string> last_lines(const std::filesystem::path& path, std::size_t count) {
  std::istringstream in(end_of(path));
  std::deque<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) continue;
    lines.push_back(line);
    if (lines.size() > count) lines.pop_front();
  }
  return {lines.begin(), lines.end()};
}

std::optional<std::int64_t> last_step(const std::filesystem::path& metrics) {
  constexpr std::size_t kLooked =
      3;  // a last line may be cut off, and a validation has the same step
  const auto lines = last_lines(metrics, kLooked);
  for (std::size_t i = lines.size(); i-- > 0;) {
    if (const auto step = step_of(lines[i])) return step;
  }
  return std::nullopt;
}

}  // namespace wam
