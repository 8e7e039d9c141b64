#include "data/embodiment/binding.h"

#include <algorithm>

#include "core/base/errors.h"
#include "core/base/names.h"
#include "data/embodiment/column_advice.h"

namespace wam {
namespace {

const ColumnOverride* mapped(const Embodiment& embodiment, const std::string& key) {
  const auto found = embodiment.column_map.find(key);
  return found == embodiment.column_map.end() ? nullptr : &found->second;
}

// Part of a column that a record names; without start and end the whole column.
ColumnSlice mapped_slice(const LeRobotReader& reader, const ColumnOverride& column) {
  if (column.start) return {column.column, *column.start, *column.end};
  return {column.column, 0, reader.column_width(0, column.column)};
}

std::vector<ColumnSlice> vector_slices(const LeRobotReader& reader,
                                       const Embodiment& embodiment,
                                       VectorKind kind) {
  const bool state = kind == VectorKind::kState;
  const std::string prefix = state ? "state." : "action.";
  std::vector<ColumnSlice> slices;
  std::vector<ColumnSlice> taken;
  std::vector<std::string> to_find;
  std::vector<std::size_t> places;
  for (const auto& key : state ? embodiment.state_keys : embodiment.action_keys) {
    const auto* column = mapped(embodiment, prefix + key);
    slices.push_back(column != nullptr ? mapped_slice(reader, *column) : ColumnSlice{});
    if (column != nullptr) taken.push_back(slices.back());
    if (column != nullptr) continue;
    to_find.push_back(key);
    places.push_back(slices.size() - 1);
  }
  const auto found = find_vector_columns(reader.meta(), kind, to_find, taken);
  for (std::size_t i = 0; i < found.size(); ++i) slices[places[i]] = found[i];
  for (const auto& slice : slices) reader.require_column(0, slice);
  return slices;
}

bool is_there(const LeRobotReader& reader, const ColumnOverride& column) {
  try {
    reader.require_column(0, mapped_slice(reader, column));
    return true;
  } catch (const DataError&) {
    return false;
  }
}

// Without those whose place the record says and the tables have; all where none remains.
std::vector<UnplacedKey> keys_to_place(const LeRobotReader& reader,
                                       const Embodiment& embodiment,
                                       VectorKind kind) {
  const bool state = kind == VectorKind::kState;
  std::vector<UnplacedKey> missing;
  std::vector<UnplacedKey> all;
  for (const auto& key : state ? embodiment.state_keys : embodiment.action_keys) {
    const auto* column = mapped(embodiment, (state ? "state." : "action.") + key);
    all.push_back(column != nullptr ? UnplacedKey{key, column->start, column->end}
                                    : UnplacedKey{key});
    if (column == nullptr || !is_there(reader, *column)) missing.push_back(all.back());
  }
  return missing.empty() ? all : missing;
}

// Where the keys of one kind are. An error of it ends in what the tables have, and in the entries
// of the record that would name it.
std::vector<ColumnSlice> vectors(const LeRobotReader& reader,
                                 const Embodiment& embodiment,
                                 VectorKind kind) {
  try {
    return vector_slices(reader, embodiment, kind);
  } catch (const DataError& error) {
    const std::string text = error.what();
    const auto end = std::min(text.find(" Found: "), text.find(" Fix: "));
    const auto keys = keys_to_place(reader, embodiment, kind);
    throw DataError(fmt::format("{} {}", text.substr(0, end), column_advice(reader, kind, keys)));
  }
}

std::string span_column(const LeRobotMeta& meta,
                        const Embodiment& embodiment,
                        const Binding& binding) {
  for (std::size_t i = 0; i < embodiment.language_keys.size(); ++i) {
    if (mapped(embodiment, embodiment.language_keys[i]) != nullptr) return binding.language[i];
  }
  return find_span_column(meta, embodiment.language_keys).value_or("");
}

PictureSize common_size(const LeRobotReader& reader,
                        const Embodiment& embodiment,
                        const Binding& binding) {
  const PictureSize first = reader.picture_size(binding.cameras.front());
  for (std::size_t v = 1; v < binding.cameras.size(); ++v) {
    const PictureSize size = reader.picture_size(binding.cameras[v]);
    require<DataError>(size == first,
                       "LeRobot dataset {}: view {} ({}) is {}x{} and view {} ({}) is {}x{}; the "
                       "views of an embodiment are cropped together. Fix: scale the videos to one "
                       "size",
                       reader.meta().root.string(), embodiment.views[0], binding.cameras[0],
                       first.height, first.width, embodiment.views[v], binding.cameras[v],
                       size.height, size.width);
  }
  return first;
}

// Of a view, where the record says it.
std::string mapped_camera(const LeRobotMeta& meta,
                          const std::string& view,
                          const std::string& column) {
  std::vector<std::string> cameras;
  for (const LeRobotFeature& feature : meta.info.features) {
    if (feature.is_camera()) cameras.push_back(feature.name);
  }
  require<DataError>(std::find(cameras.begin(), cameras.end(), column) != cameras.end(),
                     "LeRobot dataset {}: the embodiment's column_map says that video.{} is '{}', "
                     "which is no camera of the dataset. Found: {}. Fix: name one of those",
                     meta.root.string(), view, column, join(cameras));
  return column;
}

std::int64_t total_width(const std::vector<ColumnSlice>& slices) {
  std::int64_t width = 0;
  for (const auto& slice : slices) width += slice.width();
  return width;
}

}  // namespace

std::int64_t Binding::state_width() const {
  return total_width(state);
}
std::int64_t Binding::action_width() const {
  return total_width(action);
}

Binding bind_columns(const LeRobotReader& reader, const Embodiment& embodiment) {
  const LeRobotMeta& meta = reader.meta();
  Binding out;
  out.state = vectors(reader, embodiment, VectorKind::kState);
  out.action = vectors(reader, embodiment, VectorKind::kAction);
  for (const auto& key : embodiment.language_keys) {
    const auto* column = mapped(embodiment, key);
    out.language.push_back(column != nullptr ? column->column : find_language_column(meta, key));
    require<DataError>(reader.has_column(0, out.language.back()),
                       "LeRobot dataset {}: {} should be in column '{}', which episode {} lacks. "
                       "Found: {}. Fix: name the column in meta/modality.json, or in the "
                       "embodiment's column_map",
                       meta.root.string(), key, out.language.back(), reader.episode_number(0),
                       join(reader.columns(0)));
  }
  out.span = span_column(meta, embodiment, out);
  for (const auto& view : embodiment.views) {
    const auto* column = mapped(embodiment, "video." + view);
    out.cameras.push_back(column != nullptr ? mapped_camera(meta, view, column->column)
                                            : find_camera(meta, view));
  }
  return out;
}

Binding bind(const LeRobotReader& reader, const Embodiment& embodiment) {
  Binding out = bind_columns(reader, embodiment);
  out.picture = common_size(reader, embodiment, out);
  return out;
}

}  // namespace wam
