#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/lerobot/meta.h"

namespace wam {

// Which column of a dataset holds what an embodiment calls "state.joint_position".
//
// Source: RLinf @ a3816b5, its LeRobot reader; defaults of modality.json as in DreamZero @ ab790c1.
// Keys may be given with or without their kind ("state.joint_position" or "joint_position").
// Errors: DataError naming dataset, key, and the names that exist.

enum class VectorKind { kState, kAction };

// Values [start, end) of each row of a vector column.
struct ColumnSlice {
  std::string column;
  std::int64_t start = 0;
  std::int64_t end = 0;

  [[nodiscard]] std::int64_t width() const { return end - start; }
  bool operator==(const ColumnSlice&) const = default;
};

// One slice per key, in the order of `keys`: by modality.json, else by the names in info.json. A
// single key that neither describes is the whole vector, unless another key, or `taken`, has a part
// of it; joint_position and gripper_position have DROID's places in a vector of DROID's width;
// anything else is an error. Keys may lie in different columns.
std::vector<ColumnSlice> find_vector_columns(const LeRobotMeta& meta,
                                             VectorKind kind,
                                             const std::vector<std::string>& keys,
                                             const std::vector<ColumnSlice>& taken = {});

// The camera feature behind "video.wrist_image".
std::string find_camera(const LeRobotMeta& meta, const std::string& key);

// The column behind "annotation.task": what modality.json says, else the column of that name; where
// the dataset lacks it, "task", then "task_index". It holds text or an index into the tasks.
std::string find_language_column(const LeRobotMeta& meta, const std::string& key);

// The column whose changes cut an episode into spans of one instruction: the first of the language
// columns of `keys` that the dataset has, then "task_index", then "task"; nothing when there is
// none.
std::optional<std::string> find_span_column(const LeRobotMeta& meta,
                                            const std::vector<std::string>& keys);

}  // namespace wam
