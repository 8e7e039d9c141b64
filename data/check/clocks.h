#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/check/fault.h"
#include "data/lerobot/reader.h"

namespace wam {

// What an episode's table says of the time of its rows. Empty where it has no such column.
struct RowClock {
  std::vector<double> time_s;
  std::vector<std::int64_t> frame_index;
};

struct CameraVideo {
  std::string file;  // below the dataset's folder
  EpisodeVideo video;
};

struct EpisodeClocks {
  std::string table;
  std::int64_t length = 0;  // rows
  double fps = 0;           // of info.json
  RowClock rows;
  std::vector<CameraVideo> videos;  // those that could be opened
};

// Frame counts, rates, gaps and times of the rows of an episode and of its videos, against each
// other and against info.json: whether every row has the frame that belongs to it, by the rule of
// LeRobotReader. Decodes nothing. Faults are without the episode's number.
std::vector<Fault> check_clocks(const EpisodeClocks& episode);

}  // namespace wam
