#include "data/check/values.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/core.h>

#include "core/base/format.h"
#include "core/io/hash.h"
#include "data/normalise/odd_dimensions.h"

namespace wam {
namespace {

constexpr std::int64_t kSampledRows = 100'000;  // about so many go into histograms
constexpr double kStillShare = 0.01;            // of a dimension's range

constexpr const char* kMend = "mend the values, or leave the episode out";

FaultKind kind_of(Oddity oddity) {
  switch (oddity) {
    case Oddity::kConstant:
      return FaultKind::kConstant;
    case Oddity::kNearConstant:
      return FaultKind::kNearConstant;
    case Oddity::kRarelyMoves:
      return FaultKind::kRarelyMoves;
    case Oddity::kOutlier:
      break;
  }
  return FaultKind::kOutlier;
}

const char* fix_of(Oddity oddity) {
  switch (oddity) {
    case Oddity::kConstant:
      return "min_max makes it 0, q99 passes it through; or leave the key out of the record";
    case Oddity::kNearConstant:
      return "data.range_floor, else its noise fills [-1, 1]";
    case Oddity::kRarelyMoves:
      return "normalise it with min_max: under q99 it passes through";
    case Oddity::kOutlier:
      break;
  }
  return "look at the frame; q99 clips it, min_max lets it squeeze all else";
}

std::vector<float> values_of(const at::Tensor& rows_LD, std::size_t d) {
  std::vector<float> out;
  const float* data = rows_LD.const_data_ptr<float>();
  const std::int64_t width = rows_LD.size(1);
  for (std::int64_t row = 0; row < rows_LD.size(0); ++row) {
    out.push_back(data[row * width + static_cast<std::int64_t>(d)]);
  }
  return out;
}

std::vector<float> steps_in(const std::vector<float>& values) {
  std::vector<float> out;
  for (std::size_t i = 1; i < values.size(); ++i)
    out.push_back(std::abs(values[i] - values[i - 1]));
  return out;
}

}  // namespace

ValueChecks::ValueChecks(const Embodiment& embodiment,
                         const Binding& binding,
                         std::int64_t num_episodes,
                         Names names)
    : names_(std::move(names)), episodes_(static_cast<std::size_t>(num_episodes)) {
  std::size_t slice = 0;
  for (std::size_t k = 0; k < embodiment.state_keys.size(); ++k) {
    add_key("state." + embodiment.state_keys[k], slice++, binding.state[k].width(), false);
  }
  for (std::size_t k = 0; k < embodiment.action_keys.size(); ++k) {
    add_key("action." + embodiment.action_keys[k], slice++, binding.action[k].width(), true);
  }
}

void ValueChecks::add_key(const std::string& key,
                          std::size_t slice,
                          std::int64_t width,
                          bool is_action) {
  for (std::int64_t d = 0; d < width; ++d) {
    Dimension& dimension = dimensions_.emplace_back(episodes_.size());
    dimension.key = key;
    dimension.in_key = static_cast<std::size_t>(d);
    dimension.slice = slice;
    dimension.is_action = is_action;
  }
}

void ValueChecks::first_pass(std::int64_t episode_idx, const std::vector<at::Tensor>& rows) {
  const auto e = static_cast<std::size_t>(episode_idx);
  Episode& episode = episodes_[e];
  StreamHash hash;
  for (const at::Tensor& slice_LD : rows) {
    hash.update(slice_LD.const_data_ptr<float>(), slice_LD.nbytes());
  }
  episode.hash = hash.digest();
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    Dimension& dimension = dimensions_[d];
    const auto values = values_of(rows[dimension.slice], dimension.in_key);
    look_at(d, values, episode);
    dimension.values.first_pass(e, values);
    if (dimension.is_action) dimension.steps.first_pass(e, steps_in(values));
  }
  episode.length = rows.front().size(0);
}

void ValueChecks::look_at(std::size_t dimension,
                          const std::vector<float>& values,
                          Episode& episode) {
  Extent extent;
  bool is_first = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    if (!std::isfinite(values[i])) {
      const bool is_earlier = episode.not_finite == 0 || row < episode.bad_row;
      if (is_earlier) episode.bad_row = row;
      if (is_earlier) episode.bad_dimension = dimension;
      ++episode.not_finite;
      continue;
    }
    extent.low = is_first ? values[i] : std::min(extent.low, values[i]);
    extent.high = is_first ? values[i] : std::max(extent.high, values[i]);
    is_first = false;
    if (i == 0 || !std::isfinite(values[i - 1])) continue;
    const float step = std::abs(values[i] - values[i - 1]);
    if (step > extent.step) extent.step_row = row;
    extent.step = std::max(extent.step, step);
  }
  episode.extent.push_back(extent);
}

bool ValueChecks::begin_second_pass() {
  std::int64_t rows = 0;
  for (const Episode& episode : episodes_) rows += episode.length;
  if (rows == 0) return false;
  for (Dimension& dimension : dimensions_) {
    dimension.takes_part = dimension.values.num_values() > 0;
    if (!dimension.takes_part) continue;
    dimension.values.begin_second_pass();
    if (dimension.steps.num_values() > 0) dimension.steps.begin_second_pass();
  }
  sample_every_ = (rows + kSampledRows - 1) / kSampledRows;
  sample_.assign(episodes_.size(), {});
  return true;
}

void ValueChecks::second_pass(std::int64_t episode_idx, const std::vector<at::Tensor>& rows) {
  const auto e = static_cast<std::size_t>(episode_idx);
  for (Dimension& dimension : dimensions_) {
    auto& sampled = sample_[e].emplace_back();
    if (!dimension.takes_part) continue;
    const auto values = values_of(rows[dimension.slice], dimension.in_key);
    dimension.values.second_pass(e, values);
    if (dimension.steps.num_values() > 0) dimension.steps.second_pass(e, steps_in(values));
    for (std::size_t i = 0; i < values.size(); i += static_cast<std::size_t>(sample_every_)) {
      sampled.push_back(values[i]);
    }
  }
}

std::string ValueChecks::name(const Dimension& dimension) const {
  return fmt::format("{}[{}]", dimension.key, dimension.in_key);
}

std::vector<DimensionSummary> ValueChecks::summaries() const {
  std::vector<DimensionSummary> out;
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    DimensionSummary& summary = out.emplace_back();
    if (dimensions_[d].takes_part) {
      summary = summary_of(dimensions_[d].values);
      begin_bars(summary);
      for (const auto& episode : sample_) {
        if (!episode.empty()) count(episode[d], summary);
      }
    }
    summary.name = name(dimensions_[d]);
  }
  return out;
}

ValueFindings ValueChecks::findings() {
  ValueFindings out;
  out.dimensions = summaries();
  for (const auto& dimension : out.dimensions) range_.push_back(dimension.q99 - dimension.q01);
  add_not_finite(out.faults);
  add_odd(out.faults);
  add_jumps(out.dimensions, out.faults);
  add_still(out.faults);
  return out;
}

void ValueChecks::add_not_finite(std::vector<Fault>& faults) const {
  for (std::size_t e = 0; e < episodes_.size(); ++e) {
    const Episode& episode = episodes_[e];
    if (episode.not_finite == 0) continue;
    const auto idx = static_cast<std::int64_t>(e);
    faults.push_back(
        {FaultKind::kNotFinite, Effect::kBadSample, names_.table(idx), names_.number(idx),
         episode.bad_row,
         fmt::format("{} not finite, the first in {}", counted(episode.not_finite, "value"),
                     name(dimensions_[episode.bad_dimension])),
         kMend});
  }
}

void ValueChecks::add_odd(std::vector<Fault>& faults) const {
  Statistics statistics;
  std::map<std::string, std::size_t> first;  // dimension of each key
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    const Dimension& dimension = dimensions_[d];
    if (!dimension.takes_part) continue;
    first.emplace(dimension.key, d);
    const std::string key = dimension.key.substr(dimension.key.find('.') + 1);
    dimension.values.append_to((dimension.is_action ? statistics.action : statistics.state)[key]);
  }
  const auto place = [&](const Extreme& extreme) {
    return fmt::format("episode {}, frame {}",
                       names_.number(static_cast<std::int64_t>(extreme.episode)), extreme.place);
  };
  for (const auto& odd : odd_dimensions(statistics)) {
    const Dimension& dimension = dimensions_[first.at(odd.key) + odd.dimension];
    const auto& keys = dimension.is_action ? statistics.action : statistics.state;
    const Extreme& low = dimension.values.lowest();
    const Extreme& high = dimension.values.highest();
    Fault fault{kind_of(odd.oddity), Effect::kNone, {}, {}, {}, {}, fix_of(odd.oddity)};
    fault.message = fmt::format(
        "{}: {}", name(dimension),
        describe(odd, keys.at(odd.key.substr(odd.key.find('.') + 1)), place(low), place(high)));
    if (odd.oddity == Oddity::kOutlier) {
      const Extreme& far = odd.is_max_far ? high : low;
      fault.episode = names_.number(static_cast<std::int64_t>(far.episode));
      fault.frame = static_cast<std::int64_t>(far.place);
    }
    faults.push_back(std::move(fault));
  }
}

bool ValueChecks::is_still(const Episode& episode) const {
  bool any = false;
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    if (range_[d] <= 0) continue;
    any = true;
    const double extent =
        static_cast<double>(episode.extent[d].high) - static_cast<double>(episode.extent[d].low);
    if (extent > kStillShare * range_[d]) return false;
  }
  return any;
}

void ValueChecks::add_still(std::vector<Fault>& faults) const {
  for (std::size_t e = 0; e < episodes_.size(); ++e) {
    if (episodes_[e].length < 2 || !is_still(episodes_[e])) continue;
    const auto idx = static_cast<std::int64_t>(e);
    faults.push_back({FaultKind::kStill,
                      Effect::kNone,
                      names_.table(idx),
                      names_.number(idx),
                      {},
                      "no state and no action moves by more than 1 % of its range",
                      "leave the episode out (`episodes` of the dataset)"});
  }
}

std::vector<std::vector<std::int64_t>> ValueChecks::equal_episodes() const {
  std::map<std::pair<std::int64_t, std::uint64_t>, std::vector<std::int64_t>> groups;
  for (std::size_t e = 0; e < episodes_.size(); ++e) {
    if (episodes_[e].length == 0) continue;
    groups[{episodes_[e].length, episodes_[e].hash}].push_back(static_cast<std::int64_t>(e));
  }
  std::vector<std::vector<std::int64_t>> out;
  for (auto& [key, group] : groups) {
    if (group.size() > 1) out.push_back(std::move(group));
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace wam
