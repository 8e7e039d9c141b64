#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/ops/picture/clip.h"
#include "core/train/dataset.h"
#include "data/dataset/clip_table.h"
#include "data/dataset/scan.h"
#include "data/dataset/set_index.h"
#include "data/embodiment/binding.h"
#include "data/embodiment/embodiment.h"
#include "data/lerobot/reader.h"
#include "data/normalise/statistics.h"
#include "data/window/window.h"

namespace wam {

// One dataset of a run.
struct DatasetMember {
  std::shared_ptr<const LeRobotReader> reader;
  Embodiment embodiment;
  Binding binding;
  // Nothing: for pictures and prompts alone. Then neither `load`, `make`, `fingerprint` nor
  // `physical_actions` may be called.
  std::optional<Statistics> statistics;
  double weight = 1;
  std::int64_t held_back_episodes = 0;  // of those that have a window
};

struct WindowDatasetOptions {
  std::vector<DatasetMember> members;
  std::int64_t blocks = 4;  // K
  std::int64_t view_height = 0;
  std::int64_t view_width = 0;
  std::int64_t state_width = 64;  // as the model has them, zero-padded
  std::int64_t action_width = 32;
  Sampling sampling = Sampling::kMultiAnchor;
  // The reference's anchors and last window, its starts (every frame, redrawn up to 8 times when it
  // has no window) and its instruction (the first).
  bool bug_compatible = false;
  // In how many ways training crops and jitters the pictures of a window. 0: anew for each sample.
  // Else the first is the centre crop without jitter, as in evaluation, the others are draws of the
  // seed; each sample takes one of them.
  std::int64_t augmentations = 0;
  std::uint64_t seed = 0;
  std::int64_t scan_threads = 1;
  SetIndexOptions index;  // where the labels and texts of the tables are kept
};

// The windows of a record under these options (`members` have no part in it), and how one of
// several instructions is chosen.
WindowRule window_rule(const Embodiment& embodiment, const WindowDatasetOptions& options);
InstructionRule instruction_rule(const Embodiment& embodiment, bool bug_compatible);

// Everything that is drawn for a sample.
struct SampleDraws {
  std::int64_t episode_idx = 0;  // of the member's reader
  std::int64_t start = 0;
  std::int64_t augmentation = 0;  // which of the fixed ones, where there are
  ClipDraws clip;
  std::size_t language_key = 0;
};

struct DatasetSplits;

// Reads every episode's labels and texts, or takes them from the index, and splits the episodes:
// those of a member with the smallest draws kHeldBack(member).uniform_double(episode_idx) are held
// back, among the ones that have a window of all blocks; no partial one is held back. Errors:
// ConfigError (view size, members that do not stack, a rule without windows), DataError (no window
// at all, nothing left to train on, statistics that do not fit), each with a fix.
DatasetSplits open_window_datasets(WindowDatasetOptions options);

// What open_window_datasets would find in each member, without its statistics: for predictions.
struct WindowCount {
  std::uint64_t training_episodes = 0;  // that have a window
  std::uint64_t held_back_episodes = 0;
  std::uint64_t training_windows = 0;
  std::uint64_t held_back_windows = 0;
};
// Errors: as open_window_datasets.
std::vector<WindowCount> count_windows(const WindowDatasetOptions& options);

// The windows of one or several LeRobot datasets, or of the part of their episodes that is held
// back.
//
// Windows are numbered member after member, episode after episode, start after start; with
// bug_compatible every frame counts as a start. Draws of a sample, all keyed by its ordinal:
// kAugmentation as in draw_clip (with fixed augmentations below(0), which one), kInstruction
// below(0) among the eligible texts, kAnchor below(0..6) for the reference's redraws. Threads: all
// const members, from any thread.
class WindowDataset : public Dataset {
 public:
  // Insides, window_dataset_impl.h.
  struct Common;  // what both splits share: readers, scans, transforms, prompts
  struct Part;    // the episodes of one member that belong to a split

  ~WindowDataset() override;
  WindowDataset(const WindowDataset&) = delete;
  WindowDataset& operator=(const WindowDataset&) = delete;
  WindowDataset(WindowDataset&&) = delete;
  WindowDataset& operator=(WindowDataset&&) = delete;

  [[nodiscard]] std::uint64_t size() const override;
  [[nodiscard]] SampleId identify(std::uint64_t window_idx) const override;
  [[nodiscard]] Sample load(std::uint64_t window_idx,
                            std::uint64_t ordinal,
                            Transforms transforms) const override;
  [[nodiscard]] std::vector<std::string> prompts() const override;
  // A JSON object: options of the windows, and for each member what it is made of, contents as
  // hashes. The same for both splits, whatever the seed and the place of the data.
  [[nodiscard]] std::string fingerprint() const override;
  [[nodiscard]] ActionMeaning action_meaning(std::int32_t dataset) const override;
  [[nodiscard]] at::Tensor physical_actions(std::int32_t dataset,
                                            const at::Tensor& action_PA) const override;

  // Windows of each member, and how often each is to be drawn (data/loader/order.h).
  [[nodiscard]] std::vector<std::uint64_t> member_sizes() const;
  [[nodiscard]] std::vector<double> member_weights() const;
  // Episodes of a member in this split (the dataset's own numbers).
  [[nodiscard]] std::vector<std::int64_t> episodes(std::size_t member) const;
  // For every number of blocks that windows of this split have, in ascending order, the first one.
  [[nodiscard]] std::vector<std::uint64_t> shapes() const;
  [[nodiscard]] std::int64_t canvas_height() const;
  [[nodiscard]] std::int64_t canvas_width() const;
  [[nodiscard]] std::int64_t clip_frames() const;
  [[nodiscard]] std::int64_t action_rows() const;  // K * H

  // The two halves of load.
  [[nodiscard]] SampleDraws draw(std::uint64_t window_idx,
                                 std::uint64_t ordinal,
                                 Transforms transforms) const;
  [[nodiscard]] Sample make(std::size_t member, const SampleDraws& draws) const;
  // The same without pictures: no video is opened.
  [[nodiscard]] Sample make_vectors(std::size_t member, const SampleDraws& draws) const;
  // The pictures of the sample that `make` would make, as recorded.
  [[nodiscard]] RawClip recorded(std::size_t member, const SampleDraws& draws) const;
  // Where they are, camera by camera; empty where they are in the tables.
  [[nodiscard]] std::vector<VideoFrames> videos(std::size_t member, const SampleDraws& draws) const;

  // The different clips of a member, whichever split their episodes belong to.
  [[nodiscard]] ClipTable clips(std::size_t member) const;
  // One of them under one of its fixed augmentations.
  [[nodiscard]] SampleDraws draws_of(std::size_t member,
                                     const ClipTable::Clip& clip,
                                     std::int64_t augmentation) const;
  // Black pictures in the place of a clip of so many frames.
  [[nodiscard]] RawClip blank(std::size_t member, std::int64_t frames) const;
  // What the pictures of these clips follow from, as a JSON object: no statistics, no prompts, and
  // the seed only where it has an effect.
  [[nodiscard]] std::string picture_fingerprint(std::size_t member) const;
  // The dataset's folder name and the embodiment's tag.
  [[nodiscard]] std::string name(std::size_t member) const;
  [[nodiscard]] std::size_t num_members() const;
  [[nodiscard]] std::int64_t augmentations() const;
  // The dataset's own number of an episode.
  [[nodiscard]] std::int64_t episode_number(std::size_t member, std::int64_t episode_idx) const;

 private:
  struct Located;  // a window's place
  friend DatasetSplits open_window_datasets(WindowDatasetOptions options);

  explicit WindowDataset(std::shared_ptr<const Common> common);
  [[nodiscard]] Located locate(std::uint64_t window_idx) const;
  [[nodiscard]] Located locate_in(std::size_t member, std::uint64_t member_window) const;
  [[nodiscard]] ClipDraws fixed_draws(std::size_t member,
                                      std::int64_t episode_idx,
                                      std::int64_t start,
                                      std::int64_t augmentation) const;
  void redraw(Located& at, std::uint64_t ordinal) const;
  [[nodiscard]] Window window_of(std::size_t member, const SampleDraws& draws) const;
  [[nodiscard]] RawClip no_pictures(std::size_t member) const;
  [[nodiscard]] RawClip pictures(std::size_t member,
                                 const SampleDraws& draws,
                                 const Window& window) const;
  void fill_vectors(std::size_t member,
                    const SampleDraws& draws,
                    const Window& window,
                    Sample& sample) const;

  std::shared_ptr<const Common> common_;
  std::vector<Part> parts_;
};

struct DatasetSplits {
  std::shared_ptr<WindowDataset> training;
  std::shared_ptr<WindowDataset> held_back;  // null when nothing is held back
  // For the log: episodes without a window, and instructions that were not provided.
  std::vector<std::string> notes;
};

}  // namespace wam
