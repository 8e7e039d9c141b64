#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "core/base/errors.h"
#include "core/random/counter.h"
#include "data/dataset/scan_notes.h"
#include "data/dataset/window_dataset_impl.h"
#include "data/embodiment/prompt.h"

namespace wam {
namespace {

// What the recipe and the records get wrong together, before any data is read.
void check_options(const WindowDatasetOptions& options) {
  std::vector<std::string> problems;
  if (options.members.empty()) problems.emplace_back("no dataset. Fix: name one in data.datasets");
  if (options.view_height < 1 || options.view_width < 1 || options.blocks < 1) {
    problems.push_back(fmt::format("views of {}x{} in {} blocks. Fix: positive numbers",
                                   options.view_height, options.view_width, options.blocks));
  }
  for (const auto& member : options.members) {
    for (const auto& text : rule_problems(window_rule(member.embodiment, options))) {
      problems.push_back(fmt::format("embodiment '{}': {}", member.embodiment.tag, text));
    }
    const Embodiment& first = options.members.front().embodiment;
    const Embodiment& other = member.embodiment;
    if (other.canvas_rows != first.canvas_rows || other.canvas_cols != first.canvas_cols ||
        other.action_horizon != first.action_horizon ||
        other.video_offsets.size() != first.video_offsets.size()) {
      problems.push_back(fmt::format(
          "embodiments '{}' (canvas {}x{} views, {} actions and {} frames a block) and '{}' "
          "({}x{}, "
          "{}, {}) do not stack into one batch. Fix: train on one of them, or on records of equal "
          "shape",
          first.tag, first.canvas_rows, first.canvas_cols, first.action_horizon,
          first.video_offsets.size(), other.tag, other.canvas_rows, other.canvas_cols,
          other.action_horizon, other.video_offsets.size()));
    }
    const PictureSize size = options.members.front().binding.picture;
    const PictureSize other_size = member.binding.picture;
    if (!(size == other_size)) {
      problems.push_back(fmt::format(
          "the pictures of {} are {}x{}, those of {} {}x{}: datasets of one run have pictures of "
          "one size. Fix: scale the videos of one of them, or train them in runs of their own",
          options.members.front().reader->meta().root.string(), size.height, size.width,
          member.reader->meta().root.string(), other_size.height, other_size.width));
    }
    if (member.binding.action_width() > options.action_width) {
      problems.push_back(
          fmt::format("embodiment '{}' has {} action values, the model {}. Fix: fewer "
                      "action_keys",
                      other.tag, member.binding.action_width(), options.action_width));
    }
  }
  if (!problems.empty()) throw ConfigError::of(problems);
}

void check_width(const DatasetMember& member,
                 const std::string& kind,
                 std::int64_t in_statistics,
                 std::int64_t in_data) {
  require<DataError>(
      in_statistics == in_data,
      "LeRobot dataset {}: its {} vector has {} values, the statistics of embodiment "
      "'{}' have {}. Fix: data.statistics: compute, or a metadata.json made for this "
      "data",
      member.reader->meta().root.string(), kind, in_data, member.embodiment.tag, in_statistics);
}

// metadata.json gives [width, height], files of one generator the other way round; both are taken
// when they name the pictures' size.
void check_resolution(const DatasetMember& member, const Statistics& statistics) {
  const PictureSize size = member.binding.picture;
  for (const auto& view : member.embodiment.views) {
    const auto found = statistics.video.find(view);
    if (found == statistics.video.end()) continue;
    const CameraMeta& camera = found->second;
    const bool same = (camera.height == size.height && camera.width == size.width) ||
                      (camera.height == size.width && camera.width == size.height);
    require<DataError>(same,
                       "LeRobot dataset {}: its pictures are {}x{}, the statistics of embodiment "
                       "'{}' were made for {}x{} ({}). Fix: data.statistics: compute, or scale the "
                       "videos",
                       member.reader->meta().root.string(), size.height, size.width,
                       member.embodiment.tag, camera.height, camera.width, view);
  }
}

// Member `index`'s held-back episodes.
std::set<std::int64_t> held_back(const std::vector<EpisodeScan>& scans,
                                 std::int64_t count,
                                 std::uint64_t seed,
                                 std::size_t index,
                                 const std::string& name) {
  std::vector<std::pair<double, std::int64_t>> drawn;
  std::int64_t with_window = 0;
  const CounterStream stream(seed, Purpose::kHeldBack, index);
  for (std::size_t e = 0; e < scans.size(); ++e) {
    with_window += scans[e].starts.empty() ? 0 : 1;
    if (scans[e].whole.empty()) continue;
    drawn.emplace_back(stream.uniform_double(e), static_cast<std::int64_t>(e));
  }
  require<DataError>(
      with_window > 0,
      "LeRobot dataset {}: none of its {} episodes has a window (too short, or cut by "
      "changes of instruction). Fix: longer episodes, fewer blocks, or another "
      "embodiment",
      name, scans.size());
  const auto candidates = static_cast<std::int64_t>(drawn.size());
  require<DataError>(
      count < with_window && count <= candidates,
      "LeRobot dataset {}: {} of {} episodes with a window are to be held back, which "
      "leaves none to train on{}. Fix: a smaller data.validation",
      name, count, with_window,
      candidates < with_window
          ? fmt::format(" or more than the {} with a window of all blocks", candidates)
          : "");
  std::sort(drawn.begin(), drawn.end());
  std::set<std::int64_t> out;
  for (std::int64_t i = 0; i < count; ++i) out.insert(drawn[static_cast<std::size_t>(i)].second);
  return out;
}

// Windows of an episode in one split (with bug_compatible: any frame).
std::size_t windows_in(const EpisodeScan& episode, bool hold, bool every_frame) {
  if (every_frame) return static_cast<std::size_t>(episode.facts.length);
  return hold ? episode.whole.size() : episode.starts.size();
}

using Member = WindowDataset::Common::Member;

SetScan scan(const DatasetMember& source, const WindowDatasetOptions& options) {
  return scan_episodes(
      *source.reader,
      indexed_facts(*source.reader, source.binding, options.scan_threads, options.index),
      window_rule(source.embodiment, options),
      instruction_rule(source.embodiment, options.bug_compatible));
}

void add_normalisers(Member& member, const Statistics& statistics) {
  const DatasetMember& source = member.source;
  member.state = VectorNormaliser::of_state(source.embodiment, statistics);
  member.action = VectorNormaliser::of_action(source.embodiment, statistics);
  check_width(source, "state", member.state->width(), source.binding.state_width());
  check_width(source, "action", member.action->width(), source.binding.action_width());
  check_resolution(source, statistics);
}

Member make_member(const DatasetMember& source, const WindowDatasetOptions& options) {
  const Embodiment& e = source.embodiment;
  const ViewGeometry geometry{source.binding.picture.height, source.binding.picture.width,
                              e.crop_scale, options.view_height, options.view_width};
  Member member{source,
                window_rule(e, options),
                instruction_rule(e, options.bug_compatible),
                geometry,
                std::make_shared<const ClipPlan>(clip_plan(e, geometry)),
                {},
                {},
                {},
                {}};
  if (source.statistics) add_normalisers(member, *source.statistics);
  member.scan = scan(source, options);
  for (const auto& episode : member.scan.episodes) {
    for (const auto& text : episode.texts) {
      if (member.prompt_of.count(text) == 0) member.prompt_of[text] = fill_prompt(e, text);
    }
  }
  return member;
}

// The episodes of one split that have windows. What is held back has those of all blocks only:
// validation compares samples of one shape.
WindowDataset::Part make_part(const Member& member,
                              const std::set<std::int64_t>& held,
                              bool hold,
                              bool every_frame) {
  WindowDataset::Part part;
  part.first.push_back(0);
  part.only_whole = hold;
  for (std::size_t e = 0; e < member.scan.episodes.size(); ++e) {
    const auto windows = windows_in(member.scan.episodes[e], hold, every_frame);
    if (windows == 0 || (held.count(static_cast<std::int64_t>(e)) > 0) != hold) continue;
    part.episodes.push_back(static_cast<std::int64_t>(e));
    part.first.push_back(part.first.back() + windows);
  }
  return part;
}

}  // namespace

WindowRule window_rule(const Embodiment& embodiment, const WindowDatasetOptions& options) {
  return {options.blocks,           embodiment.action_horizon, embodiment.macro_stride,
          embodiment.video_offsets, options.bug_compatible,    options.sampling};
}

InstructionRule instruction_rule(const Embodiment& embodiment, bool bug_compatible) {
  if (bug_compatible) return InstructionRule::kFirst;
  return embodiment.language_choice == LanguageChoice::kUniform ? InstructionRule::kUniformProvided
                                                                : InstructionRule::kFirstProvided;
}

DatasetSplits open_window_datasets(WindowDatasetOptions options) {
  check_options(options);
  const std::vector<DatasetMember> sources = std::exchange(options.members, {});
  auto common = std::make_shared<WindowDataset::Common>();
  common->options = options;
  for (const auto& source : sources) common->members.push_back(make_member(source, options));
  DatasetSplits splits;
  splits.training.reset(new WindowDataset(common));
  splits.held_back.reset(new WindowDataset(common));
  for (std::size_t m = 0; m < common->members.size(); ++m) {
    const Member& member = common->members[m];
    const auto notes = scan_notes(member.reader(), member.scan, member.rule);
    splits.notes.insert(splits.notes.end(), notes.begin(), notes.end());
    const auto held = held_back(member.scan.episodes, member.source.held_back_episodes,
                                options.seed, m, member.name());
    for (const bool hold : {false, true}) {
      auto& parts = (hold ? *splits.held_back : *splits.training).parts_;
      auto part = make_part(member, held, hold, options.bug_compatible);
      part.offset = parts.empty() ? 0 : parts.back().offset + parts.back().size();
      parts.push_back(std::move(part));
    }
  }
  if (splits.held_back->size() == 0) splits.held_back.reset();
  return splits;
}

std::vector<WindowCount> count_windows(const WindowDatasetOptions& options) {
  check_options(options);
  std::vector<WindowCount> counts;
  for (std::size_t m = 0; m < options.members.size(); ++m) {
    const DatasetMember& member = options.members[m];
    const auto scans = scan(member, options).episodes;
    const auto held = held_back(scans, member.held_back_episodes, options.seed, m,
                                member.reader->meta().root.string());
    WindowCount count;
    for (std::size_t e = 0; e < scans.size(); ++e) {
      const bool is_held = held.count(static_cast<std::int64_t>(e)) > 0;
      const auto windows = windows_in(scans[e], is_held, options.bug_compatible);
      (is_held ? count.held_back_windows : count.training_windows) += windows;
      (is_held ? count.held_back_episodes : count.training_episodes) += windows > 0 ? 1 : 0;
    }
    counts.push_back(count);
  }
  return counts;
}

}  // namespace wam
