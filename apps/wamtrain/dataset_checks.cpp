#include "apps/wamtrain/dataset_checks.h"

#include <optional>
#include <string>

#include "apps/wamtrain/install.h"
#include "core/base/now_reading.h"
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
  const Reading reading(dataset.path);
  std::error_code error;
  if (std::filesystem::is_directory(dataset.path, error)) return true;
  problems.add(key, fmt::format("there is no folder {}. Fix: check the path; it is the folder that "
                                "holds meta/ and data/.",
                                dataset.path.string()));
  return false;
}

// What could be read of a dataset.
struct Found {
  std::optional<Embodiment> embodiment;
  std::optional<PictureSize> picture;
};

Found check_dataset(const DatasetSection& dataset, const std::string& key, Problems& problems) {
  Found found;
  if (!dataset.embodiment.empty()) {
    found.embodiment = attempt(key + ".embodiment", problems, [&] {
      return find_embodiment(dataset.embodiment, configs_folder() / "embodiment");
    });
  }
  if (dataset.path.empty() || !folder_is_there(dataset, key + ".path", problems)) return found;
  if (found.embodiment) {
    found.picture = attempt(key + ".path", problems, [&] {
      return bind(LeRobotReader(dataset.path, episode_filter(dataset)), *found.embodiment).picture;
    });
  } else {
    attempt(key + ".path", problems, [&] { return read_lerobot_meta(dataset.path); });
  }
  return found;
}

void check_picture(PictureSize one, PictureSize first, const std::string& key, Problems& problems) {
  if (one == first) return;
  problems.add(key,
               fmt::format("its pictures are {}x{}, those of the first dataset {}x{}; datasets "
                           "of one run have pictures of one size. Fix: scale the videos of "
                           "one of them, or train them in runs of their own.",
                           one.height, one.width, first.height, first.width));
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

EpisodeFilter episode_filter(const DatasetSection& dataset) {
  return {dataset.episodes, dataset.only_successful, dataset.min_length, dataset.max_length};
}

std::optional<std::int64_t> check_datasets(const DataSection& data, Problems& problems) {
  std::optional<Embodiment> first;
  std::optional<PictureSize> picture;
  for (std::size_t i = 0; i < data.datasets.size(); ++i) {
    const auto key = fmt::format("data.datasets.{}", i);
    const Found found = check_dataset(data.datasets[i], key, problems);
    if (!found.embodiment) continue;
    if (!first) first = found.embodiment;
    check_shape(*found.embodiment, *first, key + ".embodiment", problems);
    if (!found.picture) continue;
    if (!picture) picture = found.picture;
    check_picture(*found.picture, *picture, key + ".path", problems);
  }
  if (!first) return std::nullopt;
  return first->action_horizon;
}

}  // namespace wam
