#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/lerobot/columns.h"
#include "data/lerobot/reader.h"

namespace wam {

// A key whose values were not found, with the part of a column that the record gives it, if any.
struct UnplacedKey {
  std::string key;  // short
  std::optional<std::int64_t> start = {};
  std::optional<std::int64_t> end = {};
};

// The end of a message about keys whose values were not found: the columns that the first table
// has, and for each key the entry of column_map that looks most like it, ready to be copied:
// "Found: action (double x 28), ... Fix: write into column_map of the record:
//    action.joint_position: {column: actions.joint.position, start: 0, end: 7}".
// A key that no column resembles gets a line to fill in.
std::string column_advice(const LeRobotReader& reader,
                          VectorKind kind,
                          const std::vector<UnplacedKey>& keys);

}  // namespace wam
