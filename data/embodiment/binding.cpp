#include "data/embodiment/binding.h"

#include <algorithm>

#include "core/base/errors.h"
#include "core/base/names.h"

namespace wam {
namespace {

const ColumnOverride* mapped(const Embodiment& embodiment, const std::string& key) {
  const auto found = embodiment.column_map.find(key);
  return found == embodiment.column_map.end() ? nullptr : &found->second;
}

std::vector<ColumnSlice> vector_slices(const LeRobotMeta& meta,
                                       const Embodiment& embodiment,
                                       VectorKind kind) {
  const bool state = kind == VectorKind::kState;
  const auto& keys = state ? embodiment.state_keys : embodiment.action_keys;
  const std::string prefix = state ? "state." : "action.";
  const bool all_mapped = std::all_of(keys.begin(), keys.end(), [&](const auto& key) {
    return mapped(embodiment, prefix + key) != nullptr;
  });
  auto slices =
      all_mapped ? std::vector<ColumnSlice>(keys.size()) : find_vector_columns(meta, kind, keys);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (const auto* column = mapped(embodiment, prefix + keys[i])) {
      slices[i] = {column->column, *column->start, *column->end};
    }
  }
  return slices;
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

Binding bind(const LeRobotReader& reader, const Embodiment& embodiment) {
  const LeRobotMeta& meta = reader.meta();
  Binding out;
  out.state = vector_slices(meta, embodiment, VectorKind::kState);
  out.action = vector_slices(meta, embodiment, VectorKind::kAction);
  for (const auto& slice : out.state) reader.require_column(0, slice);
  for (const auto& slice : out.action) reader.require_column(0, slice);
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
    out.cameras.push_back(column != nullptr ? column->column : find_camera(meta, view));
  }
  out.picture = common_size(reader, embodiment, out);
  return out;
}

}  // namespace wam
