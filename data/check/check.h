#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/check/fault.h"
#include "data/check/sheet.h"
#include "data/check/values.h"
#include "data/check/windows.h"
#include "data/lerobot/episode_filter.h"

namespace wam {

enum class CheckDepth {
  kQuick,  // metadata, tables and the indices of containers: no picture is decoded
  kFull,   // and every picture of every camera
};
enum class CheckStage { kOpening, kTables, kPictures };

struct CheckOptions {
  std::filesystem::path root;
  Embodiment embodiment;
  EpisodeFilter filter;
  // Of the windows, as WindowDatasetOptions has them.
  std::int64_t blocks = 4;
  Sampling sampling = Sampling::kMultiAnchor;
  bool bug_compatible = false;
  std::int64_t view_height = 0;  // 0: as recorded
  std::int64_t view_width = 0;
  std::int64_t target_height = 0;  // that the model scales the canvas to; 0: not
  std::int64_t target_width = 0;
  CheckDepth depth = CheckDepth::kFull;
  unsigned threads = 1;  // the report does not depend on it
  // One thread at a time.
  std::function<void(CheckStage stage, std::int64_t done, std::int64_t total)> on_progress = {};
};

// What there is in a dataset, and what is wrong with it.
struct CheckReport {
  std::string root;
  std::string name;
  std::string embodiment;
  CheckDepth depth = CheckDepth::kFull;
  std::string version;  // empty: the metadata could not be read
  std::string robot;
  double fps = 0;
  std::vector<std::string> cameras;
  std::optional<PictureSize> picture;
  std::int64_t blocks = 0;
  std::int64_t shortest_episode = 0;         // that has a window
  std::int64_t num_episodes = 0;             // with those that could not be read
  std::int64_t num_videos = 0;               // of an episode and camera each
  std::vector<EpisodeWindows> episodes;      // that could be read
  std::vector<DimensionSummary> dimensions;  // state, then action
  std::vector<Fault> faults;                 // in the order of their kinds
  Sheet sheet;                               // kFull only

  [[nodiscard]] std::int64_t num_rows() const;
  [[nodiscard]] std::int64_t num_windows() const;
};

// Reads a dataset, many episodes at a time, and reports all that it finds; what cannot be read is
// part of the report. Tables are read twice. Errors: none of the dataset's.
CheckReport check_dataset(const CheckOptions& options);

}  // namespace wam
