#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "data/check/dimension_summary.h"
#include "data/check/fault.h"
#include "data/embodiment/binding.h"
#include "data/embodiment/embodiment.h"
#include "data/normalise/dimension_statistics.h"

namespace wam {

struct ValueFindings {
  std::vector<Fault> faults;
  std::vector<DimensionSummary> dimensions;  // state, then action
};

// States and actions of the episodes of a dataset that pass by twice: values that are not finite,
// dimensions that hardly move, outliers, jumps of actions, episodes in which nothing moves,
// episodes that are equal. Statistics are exact, and none of it depends on the order of the
// episodes.
//
// Threads: `first_pass` and `second_pass` from any thread, each for an episode of its own.
class ValueChecks {
 public:
  // An episode's number and file in messages.
  struct Names {
    std::function<std::int64_t(std::int64_t episode_idx)> number;
    std::function<std::string(std::int64_t episode_idx)> table;
  };
  ValueChecks(const Embodiment& embodiment,
              const Binding& binding,
              std::int64_t num_episodes,
              Names names);

  // `rows`: float32 (L, width) of every slice, state then action, as both passes get them.
  void first_pass(std::int64_t episode_idx, const std::vector<at::Tensor>& rows);
  // After all of the first; false: there is no row.
  bool begin_second_pass();
  void second_pass(std::int64_t episode_idx, const std::vector<at::Tensor>& rows);
  // After both. Once.
  [[nodiscard]] ValueFindings findings();
  // Episodes of equal values, each group ascending.
  [[nodiscard]] std::vector<std::vector<std::int64_t>> equal_episodes() const;

 private:
  struct Dimension {
    std::string key;  // "action.joint_position"
    std::size_t in_key = 0;
    std::size_t slice = 0;  // of `rows`
    bool is_action = false;
    bool takes_part = true;  // has a finite value
    DimensionStatistics values;
    DimensionStatistics steps;  // |action[i + 1] - action[i]|
    explicit Dimension(std::size_t episodes) : values(episodes), steps(episodes) {}
  };
  struct Extent {  // of a dimension in an episode
    float low = 0;
    float high = 0;
    float step = 0;  // the largest, and the row after it
    std::int64_t step_row = 0;
  };
  struct Episode {
    std::int64_t length = 0;  // 0: has not passed by
    std::uint64_t hash = 0;
    std::int64_t not_finite = 0;
    std::int64_t bad_row = 0;  // the first, and its dimension
    std::size_t bad_dimension = 0;
    std::vector<Extent> extent;  // by dimension
  };

  void add_key(const std::string& key, std::size_t slice, std::int64_t width, bool is_action);
  void look_at(std::size_t dimension, const std::vector<float>& values, Episode& episode);
  [[nodiscard]] std::string name(const Dimension& dimension) const;
  void add_not_finite(std::vector<Fault>& faults) const;
  void add_odd(std::vector<Fault>& faults) const;
  void add_jumps(const std::vector<DimensionSummary>& all, std::vector<Fault>& faults) const;
  [[nodiscard]] Fault jump(std::size_t d, std::size_t e, double usual) const;
  [[nodiscard]] bool state_jumps_too(std::size_t d, std::size_t e) const;
  void add_still(std::vector<Fault>& faults) const;
  [[nodiscard]] bool is_still(const Episode& episode) const;
  [[nodiscard]] std::vector<DimensionSummary> summaries() const;

  Names names_;
  std::deque<Dimension> dimensions_;
  std::vector<Episode> episodes_;
  std::vector<double> range_;  // q99 - q01, by dimension
  std::int64_t sample_every_ = 1;
  std::vector<std::vector<std::vector<float>>> sample_;  // by episode and dimension
};

}  // namespace wam
