#include "data/dataset/window_vectors.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <ATen/ops/zeros.h>

#include "core/base/data_errors.h"
#include "data/normalise/compute.h"

namespace wam {
namespace {

// (rows.size(), width): the rows that a window takes of one slice of the raw vectors, float32.
void copy_rows(const LeRobotReader& reader,
               std::int64_t episode_idx,
               const ColumnSlice& slice,
               const std::vector<std::int64_t>& rows,
               std::int64_t out_width,
               float* out) {
  const at::Tensor all = read_rows(reader, episode_idx, slice);
  const float* from = all.const_data_ptr<float>();
  for (const auto row : rows) {
    const float* values = from + row * slice.width();
    if (!std::all_of(values, values + slice.width(), [](float v) { return std::isfinite(v); })) {
      throw ContentError(fmt::format(
          "LeRobot dataset {}, episode {}, frame {}: column '{}' of {} holds a value that is not "
          "finite. Fix: mend or remove the episode.",
          reader.meta().root.string(), reader.episode_number(episode_idx), row, slice.column,
          reader.rows_file(episode_idx).string()));
    }
    std::memcpy(out, values, static_cast<std::size_t>(slice.width()) * 4);
    out += out_width;
  }
}

struct KeyPlace {
  std::int64_t begin = 0;
  std::int64_t width = 0;
};
KeyPlace place_of(const std::vector<std::string>& keys,
                  const std::vector<ColumnSlice>& slices,
                  const std::string& key) {
  KeyPlace place;
  for (std::size_t k = 0; k < keys.size(); ++k) {
    place.width = slices[k].width();
    if (keys[k] == key) return place;
    place.begin += place.width;
  }
  throw InvariantError("a relative key that is not among the keys");
}

}  // namespace

std::vector<float> gather(const LeRobotReader& reader,
                          std::int64_t episode_idx,
                          const std::vector<ColumnSlice>& slices,
                          const std::vector<std::int64_t>& rows,
                          std::int64_t width) {
  std::vector<float> out(rows.size() * static_cast<std::size_t>(width));
  std::int64_t at = 0;
  for (const auto& slice : slices) {
    copy_rows(reader, episode_idx, slice, rows, width, out.data() + at);
    at += slice.width();
  }
  return out;
}

void make_relative(const DatasetMember& source,
                   const std::vector<float>& state,
                   std::vector<float>& action,
                   std::int64_t horizon) {
  const auto state_width = static_cast<std::size_t>(source.binding.state_width());
  const auto action_width = static_cast<std::size_t>(source.binding.action_width());
  for (const auto& key : source.embodiment.relative_action_keys) {
    const auto from = place_of(source.embodiment.state_keys, source.binding.state, key);
    const auto to = place_of(source.embodiment.action_keys, source.binding.action, key);
    const auto width = static_cast<std::size_t>(std::min(from.width, to.width));
    for (std::size_t row = 0; row < action.size() / action_width; ++row) {
      const std::size_t block = row / static_cast<std::size_t>(horizon);
      float* a = action.data() + row * action_width + to.begin;
      const float* s = state.data() + block * state_width + from.begin;
      for (std::size_t d = 0; d < width; ++d) a[d] -= s[d];
    }
  }
}

at::Tensor normalised(const VectorNormaliser& normaliser,
                      const std::vector<float>& rows,
                      std::int64_t out_width) {
  const std::int64_t width = normaliser.width();
  const std::int64_t count = static_cast<std::int64_t>(rows.size()) / width;
  at::Tensor out = at::zeros({count, out_width}, at::kFloat);
  auto* to = out.data_ptr<float>();
  std::vector<float> row(static_cast<std::size_t>(width));
  for (std::int64_t r = 0; r < count; ++r) {
    normaliser.forward(rows.data() + r * width, row.data());
    std::copy_n(row.begin(), std::min(width, out_width), to + r * out_width);
  }
  return out;
}

}  // namespace wam
