#include "data/normalise/compute.h"

#include <algorithm>
#include <cmath>

#include "core/base/errors.h"

namespace wam {
namespace {

// All rows of one key, episode after episode.
struct Rows {
  std::int64_t width = 0;
  std::vector<float> values;  // (rows, width)
  std::vector<std::int64_t> episode_end;

  [[nodiscard]] std::int64_t count() const { return episode_end.empty() ? 0 : episode_end.back(); }
  [[nodiscard]] float at(std::int64_t row, std::int64_t d) const {
    return values[static_cast<std::size_t>(row * width + d)];
  }
};

void append(Rows& rows, const at::Tensor& block) {
  const float* data = block.const_data_ptr<float>();
  rows.values.insert(rows.values.end(), data, data + block.numel());
  rows.width = block.size(1);
  rows.episode_end.push_back(rows.count() + block.size(0));
}

void check_finite(const at::Tensor& block,
                  const LeRobotReader& reader,
                  std::int64_t episode_idx,
                  const ColumnSlice& slice) {
  const float* data = block.const_data_ptr<float>();
  for (std::int64_t i = 0; i < block.numel(); ++i) {
    require<DataError>(
        std::isfinite(data[i]),
        "statistics of LeRobot dataset {}: episode {}, frame {}, column '{}' holds a "
        "value that is not finite. Fix: mend or discard the episode",
        reader.meta().root.string(), reader.episode_number(episode_idx), i / slice.width(),
        slice.column);
  }
}

Rows all_rows(const std::vector<BoundDataset>& datasets, bool action, std::size_t key_idx) {
  Rows rows;
  for (const auto& dataset : datasets) {
    const auto& slice = (action ? dataset.binding->action : dataset.binding->state)[key_idx];
    for (std::int64_t e = 0; e < dataset.reader->num_episodes(); ++e) {
      const at::Tensor block = read_rows(*dataset.reader, e, slice);
      require<DataError>(
          rows.width == 0 || rows.width == block.size(1),
          "statistics of LeRobot dataset {}: column '{}' has {} values where another "
          "dataset of this embodiment has {}. Fix: give it an embodiment of its own",
          dataset.reader->meta().root.string(), slice.column, block.size(1), rows.width);
      check_finite(block, *dataset.reader, e, slice);
      append(rows, block);
    }
  }
  return rows;
}

// numpy's default: linear between the neighbours of position q (N - 1).
double quantile(std::vector<float>& values, double q) {
  const double position = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::ptrdiff_t>(position);
  std::nth_element(values.begin(), values.begin() + below, values.end());
  const auto low = static_cast<double>(values[static_cast<std::size_t>(below)]);
  if (below + 1 == static_cast<std::ptrdiff_t>(values.size())) return low;
  const auto high =
      static_cast<double>(*std::min_element(values.begin() + below + 1, values.end()));
  const double t = position - static_cast<double>(below);
  return t < 0.5 ? low + (high - low) * t : high - (high - low) * (1 - t);
}

// Appends one dimension. Reorders `values`.
void reduce(std::vector<float>& values, KeyStatistics& out) {
  double sum = 0;
  for (const float v : values) sum += static_cast<double>(v);
  const double mean = sum / static_cast<double>(values.size());
  double squares = 0;
  for (const float v : values)
    squares += (static_cast<double>(v) - mean) * (static_cast<double>(v) - mean);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  out.min.push_back(static_cast<double>(*low));
  out.max.push_back(static_cast<double>(*high));
  out.mean.push_back(mean);
  out.std.push_back(std::sqrt(squares / static_cast<double>(values.size())));
  out.q01.push_back(quantile(values, 0.01));
  out.q99.push_back(quantile(values, 0.99));
}

std::vector<float> dimension(const Rows& rows, std::int64_t d) {
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(rows.count()));
  for (std::int64_t row = 0; row < rows.count(); ++row) values.push_back(rows.at(row, d));
  return values;
}

std::vector<float> relative_dimension(const Rows& action,
                                      const Rows& state,
                                      std::int64_t d,
                                      std::int64_t horizon) {
  std::vector<float> values;
  std::int64_t begin = 0;
  for (const std::int64_t end : action.episode_end) {
    for (std::int64_t i = begin; i + horizon <= end; ++i) {
      for (std::int64_t j = 0; j < horizon; ++j)
        values.push_back(action.at(i + j, d) - state.at(i, d));
    }
    begin = end;
  }
  return values;
}

KeyStatistics absolute(const Rows& rows) {
  KeyStatistics out;
  for (std::int64_t d = 0; d < rows.width; ++d) {
    auto values = dimension(rows, d);
    reduce(values, out);
  }
  return out;
}

// A dimension that the state does not have stays absolute, as in the transform.
KeyStatistics relative(const Rows& action, const Rows& state, std::int64_t horizon) {
  invariant(action.episode_end == state.episode_end, "state and action rows of equal episodes");
  KeyStatistics out;
  for (std::int64_t d = 0; d < action.width; ++d) {
    auto values =
        d < state.width ? relative_dimension(action, state, d, horizon) : dimension(action, d);
    require<DataError>(!values.empty(),
                       "computing statistics of relative actions: no episode has the {} frames of "
                       "one block. Fix: another dataset, or a smaller action_horizon",
                       horizon);
    reduce(values, out);
  }
  return out;
}

}  // namespace

at::Tensor read_rows(const LeRobotReader& reader,
                     std::int64_t episode_idx,
                     const ColumnSlice& slice) {
  return reader.read_column(episode_idx, slice).to(at::kFloat).contiguous();
}

Statistics compute_statistics(const std::vector<BoundDataset>& datasets,
                              const Embodiment& embodiment) {
  invariant(!datasets.empty(), "statistics of no dataset");
  Statistics out;
  out.tag = embodiment.tag;
  const auto& states = embodiment.state_keys;
  for (std::size_t k = 0; k < states.size(); ++k) {
    out.state.emplace(states[k], absolute(all_rows(datasets, false, k)));
  }
  for (std::size_t k = 0; k < embodiment.action_keys.size(); ++k) {
    const std::string& key = embodiment.action_keys[k];
    const Rows action = all_rows(datasets, true, k);
    const bool is_relative = embodiment.is_relative(key);
    const auto state = std::find(states.begin(), states.end(), key) - states.begin();
    KeyStatistics values =
        is_relative ? relative(action, all_rows(datasets, false, static_cast<std::size_t>(state)),
                               embodiment.action_horizon)
                    : absolute(action);
    values.relative = is_relative;
    out.action.emplace(key, std::move(values));
  }
  const BoundDataset& first = datasets.front();
  for (const auto& view : embodiment.views) {
    out.video[view] = {first.binding->picture.height, first.binding->picture.width,
                       first.reader->meta().info.fps};
  }
  return out;
}

}  // namespace wam
