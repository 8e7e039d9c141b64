#include <algorithm>

#include "data/lerobot/meta_parts.h"

namespace wam {
namespace {

std::int64_t count_leaves(const Json& value) {
  if (!value.is_structured()) return 1;
  std::int64_t leaves = 0;
  for (const Json& child : value) leaves += count_leaves(child);
  return leaves;
}

// A group name in a flat list stands for several values, by convention of the DROID and LIBERO
// converters (RLinf @ a3816b5); every other name is one value.
std::int64_t width_of_name(const std::string& name, std::int64_t vector_width) {
  if (name == "cartesian_position" || name == "cartesian_velocity") return 6;
  if (name == "joint_position" || name == "joint_velocity") return 7;
  if (name == "state" || name == "actions") return vector_width;
  return 1;
}

// {"name": "joint_position", "shape": [7]} or {"name": …, "dim": 7}.
LeRobotVectorPart part_of_object(const Json& entry, const std::string& where) {
  LeRobotVectorPart part;
  part.name = json_field<std::string>(entry, "name", "a text", where);
  if (entry.contains("shape")) {
    for (const auto extent :
         json_field<std::vector<std::int64_t>>(entry, "shape", "a list of whole numbers", where)) {
      part.width *= extent;
    }
  } else if (entry.contains("dim")) {
    part.width = json_field<std::int64_t>(entry, "dim", "a whole number", where);
  }
  return part;
}

// `names` is null, a list of texts or of objects, or an object of lists.
std::vector<LeRobotVectorPart> read_parts(const Json& names,
                                          std::int64_t vector_width,
                                          const std::string& where) {
  std::vector<LeRobotVectorPart> parts;
  if (names.is_object()) {
    for (const auto& [name, leaves] : names.items()) parts.push_back({name, count_leaves(leaves)});
  } else if (names.is_array()) {
    for (const Json& entry : names) {
      if (entry.is_object()) {
        parts.push_back(part_of_object(entry, where));
      } else if (entry.is_string()) {
        const auto name = entry.get<std::string>();
        parts.push_back({name, width_of_name(name, vector_width)});
      }
    }
  }
  return parts;
}

// Height and width by name: both channel-first and channel-last sets exist.
void read_picture_size(const Json& names, LeRobotFeature& feature) {
  if (!names.is_array()) return;
  for (std::size_t i = 0; i < std::min(names.size(), feature.shape.size()); ++i) {
    if (names[i] == "height") feature.height = feature.shape[i];
    if (names[i] == "width") feature.width = feature.shape[i];
  }
}

// "is_depth_map", at the top of `info` or under its older name.
bool is_depth_map(const Json& entry) {
  for (const char* group : {"info", "video_info"}) {
    const auto info = entry.find(group);
    if (info == entry.end() || !info->is_object()) continue;
    for (const char* name : {"is_depth_map", "video.is_depth_map"}) {
      const auto found = info->find(name);
      if (found != info->end() && found->is_boolean() && found->get<bool>()) return true;
    }
  }
  return false;
}

}  // namespace

std::vector<LeRobotFeature> read_features(const Json& features, const std::string& where) {
  require<DataError>(features.is_object() && !features.empty(),
                     "{}: 'features' is empty or no object, expected one entry per column. Fix: "
                     "restore the file from the dataset's source.",
                     where);
  std::vector<LeRobotFeature> out;
  for (const auto& [name, entry] : features.items()) {
    const std::string place = fmt::format("{}, feature '{}'", where, name);
    LeRobotFeature feature;
    feature.name = name;
    require<DataError>(entry.is_object(), "{}: not an object. Fix: restore the file.", place);
    feature.dtype = json_field<std::string>(entry, "dtype", "a text such as float32", place);
    feature.shape =
        json_field<std::vector<std::int64_t>>(entry, "shape", "a list of whole numbers", place);
    feature.is_depth = is_depth_map(entry);
    const auto names = entry.find("names");
    if (names != entry.end() && feature.is_camera()) {
      read_picture_size(*names, feature);
    } else if (names != entry.end()) {
      feature.parts = read_parts(*names, feature.num_values(), place);
    }
    out.push_back(std::move(feature));
  }
  return out;
}

}  // namespace wam
