#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/names.h"
#include "core/recipe/field.h"
#include "core/recipe/problems.h"
#include "data/window/window.h"

// The recipe's words for what the model is trained on.

namespace wam {

// Who crops, resizes and jitters the pictures.
enum class TransformOn { kCpu, kGpu };
template <>
struct EnumNames<TransformOn> {
  static constexpr std::array table{std::pair{TransformOn::kCpu, std::string_view("cpu")},
                                    std::pair{TransformOn::kGpu, std::string_view("gpu")}};
};

// Where the latents of pictures come from.
enum class LatentSource { kLive, kCached };
template <>
struct EnumNames<LatentSource> {
  static constexpr std::array table{std::pair{LatentSource::kLive, std::string_view("live")},
                                    std::pair{LatentSource::kCached, std::string_view("cached")}};
};

// What becomes of a sample whose content is bad.
enum class OnBadSample { kFail, kSkip };
template <>
struct EnumNames<OnBadSample> {
  static constexpr std::array table{std::pair{OnBadSample::kFail, std::string_view("fail")},
                                    std::pair{OnBadSample::kSkip, std::string_view("skip")}};
};

struct DatasetSection {
  std::filesystem::path path;
  std::string embodiment;
  double weight = 1;
  std::vector<std::string> episodes;
  bool only_successful = false;
  std::int64_t min_length = 0;
  std::int64_t max_length = 0;

  template <class V>
  void fields(V&& v) {
    v("path", path, "Folder of a LeRobot dataset, v2.0, v2.1 or v3.0 (the one that holds meta/).");
    v("embodiment", embodiment,
      "Name of a record in configs/embodiment, or the path of a YAML file of one's own.");
    v("weight", weight,
      "How often a window of this dataset is drawn against those of the others (no unit).",
      above(0));
    v("episodes", episodes,
      "Episodes to use, by the dataset's own numbers: numbers and ranges whose end is excluded, as "
      "in [\"7\", \"20:40\", \"100:\"]. Empty: all.");
    v("only_successful", only_successful,
      "true: only episodes that the dataset's episode list says `success: true` of.");
    v("min_length", min_length, "Least length of an episode to use (frames).", at_least(0));
    v("max_length", max_length, "Greatest length of an episode to use (frames). 0: no bound.",
      at_least(0));
  }
};

struct DataSection {
  std::vector<DatasetSection> datasets;
  Sampling sampling = Sampling::kMultiAnchor;
  double validation = 0;
  std::optional<std::int64_t> workers;
  std::optional<std::int64_t> prefetch_samples;
  TransformOn transform_on = TransformOn::kCpu;
  std::int64_t augmentations = 0;
  LatentSource latents = LatentSource::kLive;
  std::filesystem::path latent_cache;
  std::filesystem::path text_cache;
  std::filesystem::path index_cache;
  std::string statistics = "auto";
  double range_floor = 0;
  OnBadSample on_bad_sample = OnBadSample::kFail;
  std::int64_t max_bad_samples = 1000;
  bool bug_compatible = false;
  bool repeat_batch = false;

  template <class V>
  void fields(V&& v) {
    v("datasets", datasets, "What to train on.");
    v("sampling", sampling,
      "Which frames a sample has. multi_anchor: model.blocks blocks, macro_stride frames apart, "
      "within one instruction. multi_anchor_partial: as many of them as fit, at least one; samples "
      "differ in length, so train.micro_batch is 1. fixed_window: consecutive frames from any "
      "frame "
      "on, the last one repeated at an episode's end; pictures and actions do not span the same "
      "time. For comparisons.");
    v("validation", validation,
      "Episodes of each dataset that are held back from training: a number of episodes or, below "
      "1, a share (rounded up). 0: none.",
      at_least(0));
    v("workers", workers,
      "Threads that decode ahead. 0: nothing is decoded before a batch is asked for. auto: the "
      "cores of this process less one, at most 16.",
      between(0, 1024));
    v("prefetch_samples", prefetch_samples,
      "Samples of this process that are decoded ahead of the batch in hand (number); with fewer "
      "than "
      "workers some of these have nothing to do. auto: two micro-batches, at least two samples a "
      "worker.",
      at_least(1));
    v("transform_on", transform_on,
      "Who crops, resizes and jitters the pictures. cpu: the threads that decode them. gpu: "
      "kernels, "
      "before the encoders, on pictures as recorded; to the same bytes. Where CPU cores are "
      "scarce.");
    v("augmentations", augmentations,
      "In how many ways the pictures of a window are cropped and jittered in training (number). 0: "
      "anew each time that it comes. 1: one, the centre crop without jitter, as in validation. "
      "More: "
      "that one and draws of run.seed, the same in every epoch; each sample takes one of them.",
      between(0, 1024));
    v("latents", latents,
      "Where the latents of pictures come from. live: encoded in every step. cached: from "
      "latent_cache, which `wamtrain cache RECIPE --what latents` fills; no video is decoded, and "
      "neither VAE nor image encoder is loaded. Needs augmentations of 1 or more.");
    v("latent_cache", latent_cache,
      "Folder of the cached latents, a folder a dataset in it; may be shared by runs. Empty: in "
      "run.dir.");
    v("text_cache", text_cache,
      "Folder of the cached text embeddings; may be shared by runs. Empty: in run.dir.");
    v("index_cache", index_cache,
      "Folder of the indices of the datasets: labels and texts of all episodes, read from the "
      "tables "
      "once; may be shared by runs. Empty: in run.dir.");
    v("statistics", statistics,
      "What states and actions are normalised with. auto: the metadata.json of model.init where it "
      "has the embodiment, else computed over all episodes in use and kept in run.dir. compute: "
      "always "
      "that. Or the path of a metadata.json.");
    v("range_floor", range_floor,
      "Least range of a dimension of states and actions, in its own unit: narrower bounds are "
      "widened "
      "to it, in the metadata.json of the run too, so that inference undoes the same. For "
      "dimensions "
      "that hardly move, whose noise would fill [-1, 1]. 0: none.",
      at_least(0));
    v("on_bad_sample", on_bad_sample,
      "What becomes of a sample whose content is bad: a video that is cut off, a frame that is not "
      "there, a state or action that is no number. fail: the run ends with its name. skip: another "
      "window of the same dataset is drawn, the same one in every run; metrics.jsonl and the "
      "checkpoint name the one left out. A file that cannot be read is tried again, and fails.");
    v("max_bad_samples", max_bad_samples,
      "With on_bad_sample: skip: how many windows of a run may be bad (number; each counts once, "
      "through epochs and restarts); one more ends the run.",
      between(1, 1'000'000));
    v("bug_compatible", bug_compatible,
      "true: anchors, valid starts, last window, choice of instruction and draws of mixtures as "
      "the "
      "reference implementation has them, with its faults.");
    v("repeat_batch", repeat_batch,
      "true: every step uses the first batch again, with the draws of that batch. For trials: the "
      "loss must fall quickly.");
  }
};

// DataSection with nothing left to choose.
struct ResolvedData {
  DataSection options;
  std::int64_t workers = 0;
  std::int64_t prefetch_samples = 0;
};
// Problems: no dataset, an empty path or embodiment, a number of held-back episodes that is not
// whole.
ResolvedData resolve(const DataSection& section,
                     std::int64_t cores,
                     std::int64_t micro_batch,
                     Problems& problems);

// Episodes held back from `num_episodes`: a share rounded up, or the number itself. The rest, at
// least one, is trained on: the caller refuses a number that leaves none.
std::int64_t held_back_episodes(double validation, std::int64_t num_episodes);

}  // namespace wam
