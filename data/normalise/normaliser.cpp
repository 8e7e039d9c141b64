#include "data/normalise/normaliser.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/errors.h"
#include "core/base/names.h"

namespace wam {
namespace {

using KeyMap = std::map<std::string, KeyStatistics>;

const std::vector<double>& low_of(Normalisation mode, const KeyStatistics& s) {
  switch (mode) {
    case Normalisation::kQ99:
      return s.q01;
    case Normalisation::kMinMax:
      return s.min;
    case Normalisation::kMeanStd:
      break;
  }
  return s.mean;
}

const std::vector<double>& high_of(Normalisation mode, const KeyStatistics& s) {
  return mode == Normalisation::kQ99 ? s.q99 : s.max;
}

float clamp1(float x) {
  return std::clamp(x, -1.0F, 1.0F);
}

// A flag of the statistics that contradicts the record; without one they are what it says.
void check_relative(const Embodiment& embodiment,
                    const Statistics& statistics,
                    const std::string& key,
                    std::vector<std::string>& problems) {
  const bool wanted = embodiment.is_relative(key);
  if (statistics.action.at(key).relative.value_or(wanted) == wanted) return;
  problems.push_back(
      wanted ? fmt::format("action.{} is trained relative to the state, but its statistics are "
                           "those of the action itself",
                           key)
             : fmt::format("action.{} is trained as it is, but its statistics are relative to the "
                           "state",
                           key));
}

std::vector<std::string> missing_keys(const std::vector<std::string>& keys,
                                      const KeyMap& known,
                                      const std::string& kind) {
  std::vector<std::string> names;
  for (const auto& entry : known) names.push_back(entry.first);
  std::vector<std::string> problems;
  for (const auto& key : keys) {
    if (known.count(key) > 0) continue;
    const auto nearest = nearest_name(key, names);
    problems.push_back(fmt::format("{}.{} has none{}", kind, key,
                                   nearest ? fmt::format(" (did you mean '{}'?)", *nearest)
                                           : fmt::format(" (there are {})", join(names))));
  }
  return problems;
}

void report(const Embodiment& embodiment, const std::vector<std::string>& problems) {
  require<DataError>(problems.empty(),
                     "statistics of embodiment '{}': {}. Fix: data.statistics: compute, or a "
                     "metadata.json made for this embodiment",
                     embodiment.tag, join(problems, "; "));
}

}  // namespace

Normaliser::Normaliser(Normalisation mode, const KeyStatistics& statistics)
    : mode_(mode), exact_low_(low_of(mode, statistics)) {
  for (std::size_t d = 0; d < exact_low_.size(); ++d) {
    const bool scaled = mode == Normalisation::kMeanStd;
    const double high = scaled ? statistics.std[d] : high_of(mode, statistics)[d];
    exact_span_.push_back(scaled ? high : high - exact_low_[d]);
    low_.push_back(static_cast<float>(exact_low_[d]));
    span_.push_back(scaled ? static_cast<float>(high) : static_cast<float>(high) - low_[d]);
  }
}

void Normaliser::forward(const float* in, float* out) const {
  for (std::size_t d = 0; d < low_.size(); ++d) {
    const float x = in[d];
    if (mode_ == Normalisation::kMeanStd) {
      out[d] = span_[d] == 0 ? x : (x - low_[d]) / span_[d];
    } else if (span_[d] == 0) {
      out[d] = mode_ == Normalisation::kMinMax ? 0 : clamp1(x);
    } else {
      const float share = (x - low_[d]) / span_[d];
      out[d] = clamp1(2.0F * share - 1.0F);
    }
  }
}

void Normaliser::inverse(const double* in, double* out) const {
  for (std::size_t d = 0; d < low_.size(); ++d) {
    if (mode_ == Normalisation::kMeanStd) {
      out[d] = span_[d] == 0 ? in[d] : in[d] * exact_span_[d] + exact_low_[d];
    } else {
      out[d] = (in[d] + 1) / 2 * exact_span_[d] + exact_low_[d];
    }
  }
}

VectorNormaliser VectorNormaliser::of_state(const Embodiment& embodiment,
                                            const Statistics& statistics) {
  report(embodiment, missing_keys(embodiment.state_keys, statistics.state, "state"));
  VectorNormaliser out;
  out.keys_ = embodiment.state_keys;
  for (const auto& key : out.keys_) {
    out.parts_.emplace_back(embodiment.normalisation.at("state." + key), statistics.state.at(key));
    out.width_ += out.parts_.back().width();
  }
  return out;
}

VectorNormaliser VectorNormaliser::of_action(const Embodiment& embodiment,
                                             const Statistics& statistics) {
  auto problems = missing_keys(embodiment.action_keys, statistics.action, "action");
  for (const auto& key : embodiment.action_keys) {
    if (statistics.action.count(key) > 0) check_relative(embodiment, statistics, key, problems);
  }
  report(embodiment, problems);
  VectorNormaliser out;
  out.keys_ = embodiment.action_keys;
  for (const auto& key : out.keys_) {
    out.parts_.emplace_back(embodiment.normalisation.at("action." + key),
                            statistics.action.at(key));
    out.width_ += out.parts_.back().width();
  }
  return out;
}

std::vector<std::string> VectorNormaliser::names() const {
  std::vector<std::string> out;
  for (std::size_t k = 0; k < keys_.size(); ++k) {
    for (std::int64_t d = 0; d < parts_[k].width(); ++d) {
      out.push_back(fmt::format("{}[{}]", keys_[k], d));
    }
  }
  return out;
}

void VectorNormaliser::forward(const float* in, float* out) const {
  for (const auto& part : parts_) {
    part.forward(in, out);
    in += part.width();
    out += part.width();
  }
}

void VectorNormaliser::inverse(const double* in, double* out) const {
  for (const auto& part : parts_) {
    part.inverse(in, out);
    in += part.width();
    out += part.width();
  }
}

bool looks_absolute(const KeyStatistics& action, const KeyStatistics& state) {
  if (action.width() != state.width()) return false;
  for (std::size_t d = 0; d < action.width(); ++d) {
    const double range = state.std[d];
    const bool same = std::abs(action.mean[d] - state.mean[d]) <= 0.25 * range &&
                      action.std[d] >= 0.75 * range && action.std[d] <= 1.33 * range;
    if (!same) return false;
  }
  return true;
}

}  // namespace wam
