#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "data/embodiment/binding.h"
#include "data/embodiment/embodiment.h"
#include "data/lerobot/reader.h"
#include "data/window/window.h"

namespace wam {

// A start whose window is shown and timed.
struct SheetStart {
  std::int64_t episode_idx = 0;
  std::int64_t start = 0;
  std::vector<std::int64_t> labels;  // of its episode
  std::string instruction;
};

// Pictures of a window as the model gets them.
struct SheetRow {
  std::int64_t episode = 0;  // the dataset's own number
  std::string instruction;
  bool is_jittered = false;            // as in training; else cropped in the middle
  std::vector<std::int64_t> frames;    // of the episode
  std::vector<at::Tensor> canvas_HWC;  // uint8, one a frame
};

// What a sample costs the loader, of one core: the median of those that were timed.
struct SampleCost {
  double decode_s = 0;
  double transform_s = 0;
  std::int64_t samples = 0;  // that were timed
  [[nodiscard]] double total_s() const { return decode_s + transform_s; }
};

struct Sheet {
  std::vector<SheetRow> rows;
  std::int64_t target_height = 0;  // that the model scales the canvas to; 0: not
  std::int64_t target_width = 0;
  SampleCost cost;
};

struct SheetOptions {
  std::int64_t view_height = 0;
  std::int64_t view_width = 0;
  std::int64_t pictures = 5;  // of a row
};

// A row for every start, and the first one again as training would draw it. Windows whose pictures
// do not decode are passed over. On this thread alone.
Sheet make_sheet(const LeRobotReader& reader,
                 const Embodiment& embodiment,
                 const Binding& binding,
                 const WindowRule& rule,
                 const std::vector<SheetStart>& starts,
                 const SheetOptions& options);

}  // namespace wam
