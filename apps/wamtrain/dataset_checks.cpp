#include "apps/wamtrain/dataset_checks.h"

#include <optional>
#include <string>

#include "apps/wamtrain/install.h"
#include "data/embodiment/binding.h"
#include "data/embodiment/embodiment.h"
#include "data/lerobot/reader.h"

namespace wam {
namespace {

constexpr std::int64_t kFramesOfBlock = 8;  // pictures of a block

// What `work` returns, or nothing and a problem of `key` when the user's files are at fault.
template <class Work>
auto attempt(const std::string& key, Problems& problems, const Work& work)
    -> std::optional<decltype(work())> {
  try {
    return work();
  } catch (const ConfigError& error) {
    problems.add(key, error.what());
  } catch (const DataError& error) {
    problems.add(key, error.what());
  }
  return std::nullopt;
}

bool folder_is_there(const DatasetSection& dataset, const std::string& key, Problems& problems) {
  std::error_code error;
  if (std::filesystem::is_directory(dataset.path, error)) return true;
  problems.add(key, fmt::format("there is no folder {}. Fix: check the path; it is the folder that "
                                "holds meta/ and data/.",
                                dataset.path.string()));
  return false;
}

std::optional<Embodiment> check_dataset(const DatasetSection& dataset,
                                        const std::string& key,
                                        Problems& problems) {
  std::optional<Embodiment> embodiment;
  if (!dataset.embodiment.empty()) {
    embodiment = attempt(key + ".embodiment", problems, [&] {
      return find_embodiment(dataset.embodiment, configs_folder() / "embodiment");
    });
  }
  if (dataset.path.empty() || !folder_is_there(dataset, key + ".path", problems)) {
    return embodiment;
  }
  if (embodiment) {
    attempt(key + ".path", problems,
            [&] { return bind(LeRobotReader(dataset.path), *embodiment).action_width(); });
  } else {
    attempt(key + ".path", problems, [&] { return read_lerobot_meta(dataset.path); });
  }
  return embodiment;
}

// Samples are stacked, so all must have one shape.
void check_shape(const Embodiment& one,
                 const Embodiment& first,
                 const std::string& key,
                 Problems& problems) {
  const auto frames = static_cast<std::int64_t>(one.video_offsets.size());
  if (frames != kFramesOfBlock) {
    problems.add(key, fmt::format("{} has {} video_offsets, expected {}: a block is two latent "
                                  "frames of four pictures. Fix: mend the record.",
                                  one.tag, frames, kFramesOfBlock));
  }
  if (one.action_horizon == first.action_horizon && one.canvas_rows == first.canvas_rows &&
      one.canvas_cols == first.canvas_cols) {
    return;
  }
  problems.add(key,
               fmt::format("{} makes {} actions a block on a canvas of {}x{} views, {} makes "
                           "{} on {}x{}; samples of one run have one shape. Fix: train them "
                           "in runs of their own.",
                           one.tag, one.action_horizon, one.canvas_rows, one.canvas_cols, first.tag,
                           first.action_horizon, first.canvas_rows, first.canvas_cols));
}

}  // namespace

std::optional<std::int64_t> check_datasets(const DataSection& data, Problems& problems) {
  std::optional<Embodiment> first;
  for (std::size_t i = 0; i < data.datasets.size(); ++i) {
    const auto key = fmt::format("data.datasets.{}", i);
    const auto embodiment = check_dataset(data.datasets[i], key, problems);
    if (!embodiment) continue;
    if (!first) first = embodiment;
    check_shape(*embodiment, *first, key + ".embodiment", problems);
  }
  if (!first) return std::nullopt;
  return first->action_horizon;
}

}  // namespace wam
