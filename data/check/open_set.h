#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "data/check/check.h"
#include "data/check/fault.h"
#include "data/embodiment/binding.h"
#include "data/lerobot/reader.h"

namespace wam {

// A dataset as far as it can be opened.
struct OpenSet {
  bool is_open = false;                   // there are tables, with the record's columns
  std::unique_ptr<LeRobotReader> reader;  // null: no metadata. Of the episodes whose table opens
  Binding binding;
  std::optional<PictureSize> size;  // of the pictures, where it can be told
  std::int64_t num_episodes = 0;    // with those whose table does not open
  std::int64_t first_number = 0;    // of the first episode that a run opens
  std::vector<Fault> faults;
};

// Reads the metadata, opens every table, finds the columns. Errors: none; they are the faults.
OpenSet open_set(const CheckOptions& options);

}  // namespace wam
