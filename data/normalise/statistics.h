#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace wam {

// What one key's values look like over a dataset, per dimension.
struct KeyStatistics {
  std::vector<double> min;
  std::vector<double> max;
  std::vector<double> mean;
  std::vector<double> std;  // population
  std::vector<double> q01;  // exact quantiles, linear between neighbours
  std::vector<double> q99;
  // Actions only: of action[i + j] - state[i], j = 0 ... H-1, instead of the action itself. Empty
  // where a file of others does not say.
  std::optional<bool> relative;

  [[nodiscard]] std::size_t width() const { return min.size(); }
  bool operator==(const KeyStatistics&) const = default;
};

struct CameraMeta {
  std::int64_t height = 0;
  std::int64_t width = 0;
  double fps = 0;
  bool operator==(const CameraMeta&) const = default;
};

// One embodiment's entry of metadata.json. Keys are short ("joint_position").
struct Statistics {
  std::string tag;
  std::map<std::string, KeyStatistics> state;
  std::map<std::string, KeyStatistics> action;
  std::map<std::string, CameraMeta> video;
  bool operator==(const Statistics&) const = default;
};

// Every entry of a metadata.json, by tag. Numbers of others' fields are passed over.
//
// Source: DreamZero @ ab790c1, the schema of experiment_cfg/metadata.json; the field
//         modalities.action.KEY.relative is ours.
// Errors: DataError naming file, tag and key (not JSON, a statistic missing or of another width).
std::map<std::string, Statistics> read_metadata(const std::filesystem::path& file);
// The same from its text; `file` is named in messages.
std::map<std::string, Statistics> parse_metadata(const std::string& text,
                                                 const std::filesystem::path& file);

// The entry of `tag`. Errors: as read_metadata; DataError with the nearest tag.
Statistics read_statistics(const std::filesystem::path& file, const std::string& tag);

// The file's content: sorted keys, shortest numbers that read back the same.
std::string metadata_text(const std::map<std::string, Statistics>& entries);
// A file's text with the entry of `statistics` in the place of the one of its tag, or added; all
// else stays as it is. Errors: as read_metadata; `file` is named in messages.
std::string with_entry(const std::string& text,
                       const std::filesystem::path& file,
                       const Statistics& statistics);
// Writes it atomically. Errors: DeviceError.
void write_metadata(const std::filesystem::path& file,
                    const std::map<std::string, Statistics>& entries);

}  // namespace wam
