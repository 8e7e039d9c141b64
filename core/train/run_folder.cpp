#include "core/train/run_folder.h"

#include <optional>
#include <string>
#include <string_view>
#include <system_error>

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

}  // namespace

MetricsCut cut_metrics(const std::filesystem::path& path, std::int64_t step) {
  MetricsCut cut;
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

}  // namespace wam
