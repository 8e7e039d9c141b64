#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "data/check/fault.h"
#include "data/check/windows.h"
#include "data/dataset/set_facts.h"
#include "data/embodiment/binding.h"
#include "data/lerobot/reader.h"

namespace wam {

// What tables and containers say of an episode.
struct EpisodeCheck {
  bool is_readable = false;      // the table, all of it
  std::vector<at::Tensor> rows;  // of every slice, state then action: float32 (L, width)
  EpisodeWindows windows;
  std::vector<bool> camera_is_there;  // its video opens, and has a frame for every row
  std::vector<Fault> faults;
};

struct EpisodeCheckContext {
  const LeRobotReader* reader = nullptr;
  const Binding* binding = nullptr;
  const WindowRule* rule = nullptr;
  InstructionRule instructions = InstructionRule::kFirst;
  std::optional<PictureSize> size;  // of the dataset's videos
};

// Threads: any.
EpisodeCheck check_episode(const EpisodeCheckContext& context, std::int64_t episode_idx);
// The rows once more.
std::vector<at::Tensor> read_slices(const EpisodeCheckContext& context, std::int64_t episode_idx);

// Below the dataset's folder.
std::string table_name(const LeRobotReader& reader, std::int64_t episode_idx);

}  // namespace wam
