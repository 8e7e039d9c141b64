#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "data/dataset/set_facts.h"

namespace wam {

// Where the facts of datasets are kept, so that they are read from the tables once.
struct SetIndexOptions {
  std::filesystem::path folder;      // empty: they are read each time
  bool keep = true;                  // false: an index is used, and none written
  EpisodeProgress on_progress = {};  // while tables are read
  // What became of the index, for the log.
  std::function<void(const std::string& line)> on_note = {};
};

// The facts of a dataset: from its index where that was made of the same metadata, table files
// (relative paths and sizes) and columns, else from the tables, and kept.
//
// The index is one file, replaced in one step, with a hash over its content: processes that build
// it at the same time each write a whole one. One that is damaged or out of date is built anew,
// which is noted; so is a folder that cannot be written, without which the next start reads the
// tables again. Errors: as read_facts.
SetFacts indexed_facts(const LeRobotReader& reader,
                       const Binding& binding,
                       std::int64_t threads,
                       const SetIndexOptions& options);

// What a dataset is made of, as one hash: its metadata by content; its tables, and the videos of
// these cameras, by relative path and size. Not times, which copies change.
std::string files_fingerprint(const LeRobotReader& reader, const std::vector<std::string>& cameras);

// The file that holds the index of this dataset and these columns.
std::filesystem::path set_index_file(const LeRobotReader& reader,
                                     const Binding& binding,
                                     const std::filesystem::path& folder);

}  // namespace wam
