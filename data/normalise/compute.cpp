#include "data/normalise/compute.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>

#include "core/base/errors.h"
#include "core/base/parallel.h"
#include "data/normalise/dimension_statistics.h"

namespace wam {
namespace {

// An embodiment's key of one kind, while it is reduced.
struct Key {
  bool is_action = false;
  std::size_t place = 0;             // among the keys of its kind
  std::optional<std::size_t> state;  // relative actions: the state key
  std::deque<DimensionStatistics> dimensions;
};

struct Episode {
  std::size_t dataset = 0;
  std::int64_t episode_idx = 0;
};

// The rows of every key, (L, width) each.
struct EpisodeRows {
  std::vector<at::Tensor> state;
  std::vector<at::Tensor> action;

  [[nodiscard]] const at::Tensor& of(const Key& key) const {
    return (key.is_action ? action : state)[key.place];
  }
};

const std::vector<ColumnSlice>& slices_of(const Binding& binding, bool action) {
  return action ? binding.action : binding.state;
}

void check_finite(const at::Tensor& block,
                  const LeRobotReader& reader,
                  std::int64_t episode_idx,
                  const ColumnSlice& slice) {
  const float* data = block.const_data_ptr<float>();
  for (std::int64_t i = 0; i < block.numel(); ++i) {
    if (std::isfinite(data[i])) continue;
    throw DataError(fmt::format(
        "statistics of LeRobot dataset {}: episode {}, frame {}, column '{}' of {} holds a value "
        "that is not finite. Fix: mend or discard the episode.",
        reader.meta().root.string(), reader.episode_number(episode_idx), i / slice.width(),
        slice.column, reader.rows_file(episode_idx).string()));
  }
}

std::vector<at::Tensor> read_kind(const BoundDataset& dataset,
                                  std::int64_t episode_idx,
                                  bool action,
                                  NotFinite not_finite) {
  std::vector<at::Tensor> out;
  for (const auto& slice : slices_of(*dataset.binding, action)) {
    out.push_back(read_rows(*dataset.reader, episode_idx, slice));
    if (not_finite == NotFinite::kRefused)
      check_finite(out.back(), *dataset.reader, episode_idx, slice);
  }
  return out;
}

std::int64_t count_not_finite(const std::vector<at::Tensor>& blocks) {
  std::int64_t count = 0;
  for (const auto& block : blocks) {
    const float* data = block.const_data_ptr<float>();
    count += std::count_if(data, data + block.numel(), [](float v) { return !std::isfinite(v); });
  }
  return count;
}

// Values of one dimension, in the order of rows.
void fill_rows(const at::Tensor& rows_LD, std::int64_t d, std::vector<float>& out) {
  const float* data = rows_LD.const_data_ptr<float>();
  const std::int64_t width = rows_LD.size(1);
  for (std::int64_t row = 0; row < rows_LD.size(0); ++row) out.push_back(data[row * width + d]);
}

// The same minus the state at every start, H rows for each.
void fill_relative(const at::Tensor& action_LD,
                   const at::Tensor& state_LD,
                   std::int64_t d,
                   std::int64_t horizon,
                   std::vector<float>& out) {
  invariant(action_LD.size(0) == state_LD.size(0), "state and action rows of equal episodes");
  const float* action = action_LD.const_data_ptr<float>() + d;
  const float* state = state_LD.const_data_ptr<float>() + d;
  for (std::int64_t i = 0; i + horizon <= action_LD.size(0); ++i) {
    const float anchor = state[i * state_LD.size(1)];
    for (std::int64_t j = i; j < i + horizon; ++j) {
      out.push_back(action[j * action_LD.size(1)] - anchor);
    }
  }
}

// Datasets of one embodiment that cannot stand in one entry of metadata.json.
void check_alike(const std::vector<BoundDataset>& datasets) {
  const BoundDataset& first = datasets.front();
  for (const auto& dataset : datasets) {
    const auto path = [](const BoundDataset& d) { return d.reader->meta().root.string(); };
    for (const bool action : {false, true}) {
      const auto& slices = slices_of(*dataset.binding, action);
      for (std::size_t k = 0; k < slices.size(); ++k) {
        const std::int64_t expected = slices_of(*first.binding, action)[k].width();
        require<DataError>(slices[k].width() == expected,
                           "statistics of LeRobot dataset {}: column '{}' has {} values where "
                           "{} of the same embodiment has {}. Fix: give it an embodiment of its "
                           "own",
                           path(dataset), slices[k].column, slices[k].width(), path(first),
                           expected);
      }
    }
    const PictureSize& size = dataset.binding->picture;
    const PictureSize& expected = first.binding->picture;
    require<DataError>(size == expected,
                       "statistics of LeRobot dataset {}: its pictures are {}x{} where those of "
                       "{} of the same embodiment are {}x{}. Fix: scale the videos to one size, or "
                       "give it an embodiment of its own",
                       path(dataset), size.height, size.width, path(first), expected.height,
                       expected.width);
  }
}

class Computation {
 public:
  Computation(const std::vector<BoundDataset>& datasets,
              const Embodiment& embodiment,
              const ComputeOptions& options)
      : datasets_(datasets),
        embodiment_(embodiment),
        options_(options),
        episodes_(all_episodes()),
        pool_(pool_for(episodes_.size(), options.threads)) {
    for (std::size_t k = 0; k < embodiment.state_keys.size(); ++k) add_key(false, k);
    for (std::size_t k = 0; k < embodiment.action_keys.size(); ++k) add_key(true, k);
  }

  ComputedStatistics run() {
    pass(&DimensionStatistics::first_pass);
    for (Key& key : keys_) {
      for (auto& dimension : key.dimensions) {
        check_values(key, dimension);
        dimension.begin_second_pass();
      }
    }
    pass(&DimensionStatistics::second_pass);
    return result();
  }

 private:
  using Take = void (DimensionStatistics::*)(std::size_t episode, std::span<const float> values);

  void check_values(const Key& key, const DimensionStatistics& dimension) const {
    if (dimension.num_values() > 0) return;
    const auto& names = key.is_action ? embodiment_.action_keys : embodiment_.state_keys;
    throw DataError(
        key.state ? fmt::format("computing statistics of relative actions: no episode has the {} "
                                "frames of one block. Fix: another dataset, or a smaller "
                                "action_horizon",
                                embodiment_.action_horizon)
                  : fmt::format("computing statistics of {} {}: no row has a finite value. Fix: "
                                "another dataset, or a record without the key",
                                key.is_action ? "action" : "state", names[key.place]));
  }

  [[nodiscard]] std::vector<Episode> all_episodes() const {
    std::vector<Episode> out;
    for (std::size_t d = 0; d < datasets_.size(); ++d) {
      for (std::int64_t e = 0; e < datasets_[d].reader->num_episodes(); ++e) out.push_back({d, e});
    }
    return out;
  }

  void add_key(bool action, std::size_t place) {
    Key& key = keys_.emplace_back();
    key.is_action = action;
    key.place = place;
    const auto& states = embodiment_.state_keys;
    if (action && embodiment_.is_relative(embodiment_.action_keys[place])) {
      const auto at = std::find(states.begin(), states.end(), embodiment_.action_keys[place]);
      key.state = static_cast<std::size_t>(at - states.begin());
    }
    const auto width = slices_of(*datasets_.front().binding, action)[place].width();
    for (std::int64_t d = 0; d < width; ++d) key.dimensions.emplace_back(episodes_.size());
  }

  // Every episode once. Of several that are bad the first is reported: those before it are already
  // taken when it is found, and will finish.
  void pass(Take take) {
    std::atomic<std::size_t> stop = episodes_.size();
    std::exception_ptr error;
    pool_.for_each_index(episodes_.size(), [&](std::size_t e) {
      if (e >= stop) return;
      try {
        read(e, take);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (e < stop) error = std::current_exception();
        stop = std::min<std::size_t>(stop, e);
      }
    });
    if (error) std::rethrow_exception(error);
  }

  void read(std::size_t e, Take take) {
    const BoundDataset& dataset = datasets_[episodes_[e].dataset];
    const EpisodeRows rows{read_kind(dataset, episodes_[e].episode_idx, false, options_.not_finite),
                           read_kind(dataset, episodes_[e].episode_idx, true, options_.not_finite)};
    std::vector<float> values;
    for (Key& key : keys_) {
      for (std::size_t d = 0; d < key.dimensions.size(); ++d) {
        values.clear();
        fill(rows, key, static_cast<std::int64_t>(d), values);
        (key.dimensions[d].*take)(e, values);
      }
    }
    const std::int64_t bad = count_not_finite(rows.state) + count_not_finite(rows.action);
    const std::lock_guard lock(mutex_);
    not_finite_ += bad;
    if (!options_.on_progress) return;
    options_.on_progress(++done_, 2 * static_cast<std::int64_t>(episodes_.size()));
  }

  // A dimension that the state does not have stays absolute, as in the transform.
  [[nodiscard]] bool is_relative(const Key& key, std::int64_t d) const {
    return key.state && d < slices_of(*datasets_.front().binding, false)[*key.state].width();
  }

  void fill(const EpisodeRows& rows, const Key& key, std::int64_t d, std::vector<float>& out) {
    if (is_relative(key, d)) {
      fill_relative(rows.of(key), rows.state[*key.state], d, embodiment_.action_horizon, out);
    } else {
      fill_rows(rows.of(key), d, out);
    }
  }

  [[nodiscard]] ValuePlace place_of(const Extreme& extreme, bool relative) const {
    const Episode& episode = episodes_[extreme.episode];
    const auto place = static_cast<std::int64_t>(extreme.place);
    return {episode.dataset, episode.episode_idx,
            relative ? place / embodiment_.action_horizon : place};
  }

  [[nodiscard]] ComputedStatistics result() const {
    ComputedStatistics out;
    out.statistics.tag = embodiment_.tag;
    for (const Key& key : keys_) {
      const auto& name =
          (key.is_action ? embodiment_.action_keys : embodiment_.state_keys)[key.place];
      KeyStatistics values;
      ExtremePlaces& places = out.extremes[(key.is_action ? "action." : "state.") + name];
      for (std::size_t d = 0; d < key.dimensions.size(); ++d) {
        const bool relative = is_relative(key, static_cast<std::int64_t>(d));
        key.dimensions[d].append_to(values);
        places.min.push_back(place_of(key.dimensions[d].lowest(), relative));
        places.max.push_back(place_of(key.dimensions[d].highest(), relative));
      }
      if (key.is_action) values.relative = key.state.has_value();
      (key.is_action ? out.statistics.action : out.statistics.state)
          .emplace(name, std::move(values));
    }
    const BoundDataset& first = datasets_.front();
    for (const auto& view : embodiment_.views) {
      out.statistics.video[view] = {first.binding->picture.height, first.binding->picture.width,
                                    first.reader->meta().info.fps};
    }
    for (const Episode& e : episodes_) {
      out.rows += datasets_[e.dataset].reader->episode_length(e.episode_idx);
    }
    out.left_out = not_finite_ / 2;
    return out;
  }

  const std::vector<BoundDataset>& datasets_;
  const Embodiment& embodiment_;
  const ComputeOptions& options_;
  std::vector<Episode> episodes_;
  std::deque<Key> keys_;
  WorkerPool pool_;
  std::mutex mutex_;
  std::int64_t done_ = 0;
  std::int64_t not_finite_ = 0;  // of both passes
};

}  // namespace

at::Tensor read_rows(const LeRobotReader& reader,
                     std::int64_t episode_idx,
                     const ColumnSlice& slice) {
  return reader.read_column(episode_idx, slice).to(at::kFloat).contiguous();
}

ComputedStatistics compute_statistics(const std::vector<BoundDataset>& datasets,
                                      const Embodiment& embodiment,
                                      const ComputeOptions& options) {
  invariant(!datasets.empty(), "statistics of no dataset");
  check_alike(datasets);
  return Computation(datasets, embodiment, options).run();
}

}  // namespace wam
