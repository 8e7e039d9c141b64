#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/lerobot/json_file.h"
#include "data/lerobot/meta.h"

namespace wam {

// Parts of read_lerobot_meta that have a file of their own.

// `features` of info.json. Errors: DataError starting with `where`.
std::vector<LeRobotFeature> read_features(const Json& features, const std::string& where);

// The episodes that the dataset lists, ascending, each once: meta/episodes.jsonl or, in v3.0,
// meta/episodes/*/*.parquet with the places in shared files. Errors: DataError.
std::vector<LeRobotEpisode> read_episode_lines(const std::filesystem::path& root);
std::vector<LeRobotEpisode> read_episode_tables(const std::filesystem::path& root,
                                                const std::vector<std::string>& videos);
// Sorted by path. Errors: DataError when there is no such folder.
std::vector<std::filesystem::path> parquet_files_below(const std::filesystem::path& folder);
// Sorts by number. Errors: DataError for a number that is there twice.
void sort_episodes(std::vector<LeRobotEpisode>& episodes, const std::filesystem::path& list);

// meta/tasks.jsonl or, in v3.0, meta/tasks.parquet: task_index -> text.
std::map<std::int64_t, std::string> read_task_lines(const std::filesystem::path& root);
std::map<std::int64_t, std::string> read_task_table(const std::filesystem::path& root);

// meta/step_filter.jsonl; empty when the file is absent.
std::map<std::int64_t, std::vector<std::int64_t>> read_step_filter(
    const std::filesystem::path& root);

// meta/modality.json; nothing when the file is absent.
std::optional<LeRobotModality> read_modality(const std::filesystem::path& root);

}  // namespace wam
