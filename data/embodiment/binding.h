#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/embodiment/embodiment.h"
#include "data/lerobot/reader.h"

namespace wam {

// Which columns of one dataset an embodiment's keys are: the record's column_map, else what the
// dataset says of itself.
struct Binding {
  std::vector<ColumnSlice> state;  // in the order of state_keys
  std::vector<ColumnSlice> action;
  std::vector<std::string> cameras;   // in the order of views
  std::vector<std::string> language;  // in the order of language_keys
  std::string span;                   // the label column; empty: one span per episode
  PictureSize picture;                // of every camera

  [[nodiscard]] std::int64_t state_width() const;
  [[nodiscard]] std::int64_t action_width() const;
};

// The same without `picture`: opens the first episode's table, and decodes nothing. Errors: as
// bind.
Binding bind_columns(const LeRobotReader& reader, const Embodiment& embodiment);

// Opens the first episode's table and the first picture of every camera: a dataset that does not
// fit its embodiment is found here, in well under a second.
// Errors: DataError naming dataset and key, column or camera, with the names that exist; cameras of
// different sizes.
Binding bind(const LeRobotReader& reader, const Embodiment& embodiment);

}  // namespace wam
