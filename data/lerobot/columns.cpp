#include "data/lerobot/columns.h"

#include <algorithm>
#include <string_view>

#include "core/base/errors.h"
#include "core/base/names.h"

namespace wam {
namespace {

std::string short_key(const std::string& key, std::string_view kind) {
  return key.starts_with(kind) && key.size() > kind.size() && key[kind.size()] == '.'
             ? key.substr(kind.size() + 1)
             : key;
}

const LeRobotModalityEntry* find_entry(const std::vector<LeRobotModalityEntry>& entries,
                                       const std::string& name) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const LeRobotModalityEntry& e) { return e.name == name; });
  return found == entries.end() ? nullptr : &*found;
}

std::string feature_list(const LeRobotInfo& info) {
  std::vector<std::string> names;
  for (const LeRobotFeature& f : info.features) names.push_back(f.name);
  return join(names);
}

// What state and action have in their own way.
struct VectorRules {
  std::string_view kind;
  const std::vector<LeRobotModalityEntry>* entries = nullptr;  // null without modality.json
  std::string default_column;
  // Where DROID keeps its two used parts, for sets without any description (width, then slices).
  std::int64_t droid_width = 0;
  ColumnSlice droid_joint;
  ColumnSlice droid_gripper;
};

VectorRules rules_of(const LeRobotMeta& meta, VectorKind kind) {
  VectorRules rules;
  const bool is_state = kind == VectorKind::kState;
  rules.kind = is_state ? "state" : "action";
  if (meta.modality) rules.entries = is_state ? &meta.modality->state : &meta.modality->action;
  const std::string first = is_state ? "observation.state" : "action";
  const std::string second = is_state ? "state" : "actions";
  rules.default_column =
      meta.info.feature(first) == nullptr && meta.info.feature(second) != nullptr ? second : first;
  rules.droid_width = is_state ? 14 : 28;
  rules.droid_joint = is_state ? ColumnSlice{"", 7, 14} : ColumnSlice{"", 14, 21};
  rules.droid_gripper = is_state ? ColumnSlice{"", 6, 7} : ColumnSlice{"", 12, 13};
  return rules;
}

const LeRobotFeature& vector_feature(const LeRobotMeta& meta,
                                     const VectorRules& rules,
                                     const std::string& key,
                                     const std::string& column) {
  const LeRobotFeature* feature = meta.info.feature(column);
  require<DataError>(
      feature != nullptr,
      "LeRobot dataset {}: {}.{} should be in column '{}', which info.json does not "
      "list. Found: {}. Fix: name the column in meta/modality.json (original_key), or "
      "in the embodiment's column_map.",
      meta.root.string(), rules.kind, key, column, feature_list(meta.info));
  return *feature;
}

ColumnSlice checked(const LeRobotMeta& meta,
                    const VectorRules& rules,
                    const std::string& key,
                    ColumnSlice slice,
                    std::int64_t width) {
  require<DataError>(
      0 <= slice.start && slice.start < slice.end && slice.end <= width,
      "LeRobot dataset {}: {}.{} is values {} to {} of column '{}', which has {}. Fix: "
      "mend start and end in meta/modality.json, or names in meta/info.json.",
      meta.root.string(), rules.kind, key, slice.start, slice.end, slice.column, width);
  return slice;
}

std::optional<ColumnSlice> slice_by_entry(const LeRobotMeta& meta,
                                          const VectorRules& rules,
                                          const std::string& key) {
  if (rules.entries == nullptr) return std::nullopt;
  const LeRobotModalityEntry* entry = find_entry(*rules.entries, key);
  if (entry == nullptr) return std::nullopt;
  const std::string column = entry->original_key.value_or(rules.default_column);
  const std::int64_t width = vector_feature(meta, rules, key, column).num_values();
  return checked(meta, rules, key, {column, entry->start.value_or(0), entry->end.value_or(width)},
                 width);
}

std::optional<ColumnSlice> slice_by_names(const LeRobotMeta& meta,
                                          const VectorRules& rules,
                                          const std::string& key) {
  const LeRobotFeature& feature = vector_feature(meta, rules, key, rules.default_column);
  std::int64_t start = 0;
  for (const LeRobotVectorPart& part : feature.parts) {
    const ColumnSlice slice{feature.name, start, start + part.width};
    if (part.name == key) return checked(meta, rules, key, slice, feature.num_values());
    start += part.width;
  }
  return std::nullopt;
}

// No description names the key: one such key is the whole vector, unless others are parts of it,
// and a vector as wide as DROID's is laid out as DROID's.
ColumnSlice slice_by_convention(const LeRobotMeta& meta,
                                const VectorRules& rules,
                                const std::string& key,
                                bool owns_the_vector) {
  const LeRobotFeature& feature = vector_feature(meta, rules, key, rules.default_column);
  if (owns_the_vector) return {feature.name, 0, feature.num_values()};
  const bool is_joint = key == "joint_position";
  require<DataError>(
      (is_joint || key == "gripper_position") && feature.num_values() == rules.droid_width,
      "LeRobot dataset {}: nothing says where {}.{} is in column '{}' ({} values). "
      "Fix: describe it in meta/modality.json, or in the embodiment's column_map.",
      meta.root.string(), rules.kind, key, feature.name, feature.num_values());
  ColumnSlice slice = is_joint ? rules.droid_joint : rules.droid_gripper;
  slice.column = feature.name;
  return slice;
}

bool is_camera(const LeRobotMeta& meta, const std::string& name) {
  const LeRobotFeature* feature = meta.info.feature(name);
  return feature != nullptr && feature->is_camera();
}

std::string mapped_language_column(const LeRobotMeta& meta, const std::string& key) {
  const std::string name = short_key(key, "annotation");
  const LeRobotModalityEntry* entry =
      meta.modality ? find_entry(meta.modality->annotation, name) : nullptr;
  if (entry != nullptr && entry->original_key) return *entry->original_key;
  return "annotation." + name;
}

}  // namespace

std::vector<ColumnSlice> find_vector_columns(const LeRobotMeta& meta,
                                             VectorKind kind,
                                             const std::vector<std::string>& keys,
                                             const std::vector<ColumnSlice>& taken) {
  const VectorRules rules = rules_of(meta, kind);
  std::vector<ColumnSlice> slices(keys.size());
  std::vector<std::size_t> missing;
  bool is_shared = std::any_of(taken.begin(), taken.end(), [&](const ColumnSlice& slice) {
    return slice.column == rules.default_column;
  });
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::string key = short_key(keys[i], rules.kind);
    std::optional<ColumnSlice> slice = slice_by_entry(meta, rules, key);
    if (!slice) slice = slice_by_names(meta, rules, key);
    if (!slice) {
      missing.push_back(i);
      continue;
    }
    slices[i] = *slice;
    is_shared = is_shared || slice->column == rules.default_column;
  }
  for (const std::size_t i : missing) {
    slices[i] = slice_by_convention(meta, rules, short_key(keys[i], rules.kind),
                                    missing.size() == 1 && !is_shared);
  }
  return slices;
}

std::string find_camera(const LeRobotMeta& meta, const std::string& key) {
  const std::string name = short_key(key, "video");
  const LeRobotModalityEntry* entry =
      meta.modality ? find_entry(meta.modality->video, name) : nullptr;
  if (entry != nullptr && entry->original_key) {
    require<DataError>(
        is_camera(meta, *entry->original_key),
        "LeRobot dataset {}: meta/modality.json says that video.{} is '{}', which "
        "info.json does not list as video or image. Found: {}. Fix: mend original_key.",
        meta.root.string(), name, *entry->original_key, feature_list(meta.info));
    return *entry->original_key;
  }
  if (is_camera(meta, "observation.images." + name)) return "observation.images." + name;
  if (is_camera(meta, name)) return name;
  std::vector<std::string> cameras;
  for (const LeRobotFeature& f : meta.info.features) {
    if (!f.is_camera()) continue;
    if (f.name.starts_with("observation.images.") && f.name.ends_with("." + name)) return f.name;
    cameras.push_back(f.name);
  }
  throw DataError(
      fmt::format("LeRobot dataset {}: no camera for video.{}. Found: {}. Fix: name it in "
                  "the embodiment's column_map (video.{}: {{column: ...}}) or in "
                  "meta/modality.json (video.{}.original_key), or choose the embodiment "
                  "that the dataset was recorded with.",
                  meta.root.string(), name, join(cameras), name, name));
}

std::string find_language_column(const LeRobotMeta& meta, const std::string& key) {
  const std::string mapped = mapped_language_column(meta, key);
  for (const std::string& column : {mapped, std::string("task"), std::string("task_index")}) {
    if (meta.info.feature(column) != nullptr) return column;
  }
  throw DataError(
      fmt::format("LeRobot dataset {}: no column for {} ('{}', 'task' or 'task_index'). "
                  "Found: {}. Fix: name it in meta/modality.json (annotation).",
                  meta.root.string(), key, mapped, feature_list(meta.info)));
}

std::optional<std::string> find_span_column(const LeRobotMeta& meta,
                                            const std::vector<std::string>& keys) {
  std::vector<std::string> candidates;
  for (const std::string& key : keys) candidates.push_back(mapped_language_column(meta, key));
  candidates.emplace_back("task_index");
  candidates.emplace_back("task");
  for (const std::string& column : candidates) {
    if (meta.info.feature(column) != nullptr) return column;
  }
  return std::nullopt;
}

}  // namespace wam
