#include "data/dataset/window_dataset.h"

#include <algorithm>
#include <set>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "core/base/data_errors.h"
#include "core/random/counter.h"
#include "data/dataset/window_dataset_impl.h"
#include "data/dataset/window_vectors.h"
#include "data/embodiment/prompt.h"

namespace wam {
namespace {

// The reference gives up after as many tries.
constexpr int kTries = 8;

}  // namespace

WindowDataset::WindowDataset(std::shared_ptr<const Common> common) : common_(std::move(common)) {}
WindowDataset::~WindowDataset() = default;

std::uint64_t WindowDataset::size() const {
  return parts_.back().offset + parts_.back().size();
}

WindowDataset::Located WindowDataset::locate_in(std::size_t member,
                                                std::uint64_t member_window) const {
  const Part& part = parts_[member];
  invariant(member_window < part.size(), "a window past the end of its dataset");
  const auto next = std::upper_bound(part.first.begin(), part.first.end(), member_window);
  const auto e = static_cast<std::size_t>(next - part.first.begin()) - 1;
  const auto in_episode = member_window - part.first[e];
  const std::int64_t episode_idx = part.episodes[e];
  const auto& scan = common_->members[member].episode(episode_idx);
  const bool every_frame = common_->options.bug_compatible;
  return {
      member, episode_idx,
      every_frame ? static_cast<std::int64_t>(in_episode) : part.starts_of(scan).at(in_episode)};
}

WindowDataset::Located WindowDataset::locate(std::uint64_t window_idx) const {
  invariant(window_idx < size(), "a window past the end of the dataset");
  std::size_t member = parts_.size() - 1;
  while (parts_[member].offset > window_idx) --member;
  return locate_in(member, window_idx - parts_[member].offset);
}

SampleId WindowDataset::identify(std::uint64_t window_idx) const {
  const Located at = locate(window_idx);
  return {static_cast<std::int32_t>(at.member),
          common_->members[at.member].reader().episode_number(at.episode_idx), at.start};
}

// The reference's answer to a start without a window: any frame of the same dataset, up to 8 tries.
void WindowDataset::redraw(Located& at, std::uint64_t ordinal) const {
  const auto& member = common_->members[at.member];
  const CounterStream stream(common_->options.seed, Purpose::kAnchor, ordinal);
  for (std::uint64_t attempt = 1;; ++attempt) {
    const auto& starts = parts_[at.member].starts_of(member.episode(at.episode_idx));
    if (starts.contains(at.start)) return;
    require<DataError>(
        attempt < kTries,
        "drawing sample {} from LeRobot dataset {}: {} frames in a row have no window "
        "of {} blocks. Fix: data.bug_compatible: false, which only draws starts that "
        "have one, or leave out short episodes",
        ordinal, member.name(), kTries, member.rule.blocks);
    at = locate_in(at.member, stream.below(parts_[at.member].size(), attempt - 1));
  }
}

SampleDraws WindowDataset::draw(std::uint64_t window_idx,
                                std::uint64_t ordinal,
                                Transforms transforms) const {
  Located at = locate(window_idx);
  if (common_->options.bug_compatible) redraw(at, ordinal);
  const auto& member = common_->members[at.member];
  const bool training = transforms == Transforms::kTraining;
  SampleDraws draws{at.episode_idx, at.start, 0, {}, 0};
  const std::uint64_t seed = common_->options.seed;
  const CounterStream augmentation(seed, Purpose::kAugmentation, ordinal);
  if (training && augmentations() == 0) {
    draws.clip = draw_clip(member.geometry, member.source.embodiment.jitter, augmentation);
  } else {
    const auto fixed = static_cast<std::uint64_t>(augmentations());
    draws.augmentation = training ? static_cast<std::int64_t>(augmentation.below(fixed, 0)) : 0;
    draws.clip = fixed_draws(at.member, at.episode_idx, at.start, draws.augmentation);
  }
  const auto texts = texts_at(member.scan, at.episode_idx, at.start);
  const auto eligible = eligible_texts(texts, member.instructions);
  invariant(!eligible.empty(), "a start without an instruction");
  const CounterStream instruction(seed, Purpose::kInstruction, ordinal);
  draws.language_key = training ? eligible[instruction.below(eligible.size(), 0)] : eligible[0];
  return draws;
}

Sample WindowDataset::load(std::uint64_t window_idx,
                           std::uint64_t ordinal,
                           Transforms transforms) const {
  Sample sample = make(locate(window_idx).member, draw(window_idx, ordinal, transforms));
  sample.ordinal = ordinal;
  return sample;
}

Window WindowDataset::window_of(std::size_t member_idx, const SampleDraws& draws) const {
  const auto& member = common_->members[member_idx];
  const auto& scan = member.episode(draws.episode_idx);
  auto window = window_at(labels_of(scan.facts), draws.start, member.rule);
  invariant(window.has_value(), "a sample of a start without a window");
  return *std::move(window);
}

RawClip WindowDataset::recorded(std::size_t member, const SampleDraws& draws) const {
  return pictures(member, draws, window_of(member, draws));
}

std::vector<VideoFrames> WindowDataset::videos(std::size_t member_idx,
                                               const SampleDraws& draws) const {
  const auto& member = common_->members[member_idx];
  const Window window = window_of(member_idx, draws);
  std::vector<VideoFrames> out;
  for (const auto& camera : member.source.binding.cameras) {
    auto frames = member.reader().video_frames(draws.episode_idx, camera, window.video);
    if (frames) out.push_back(*std::move(frames));
  }
  return out;
}

Sample WindowDataset::make(std::size_t member_idx, const SampleDraws& draws) const {
  RawClip clip = recorded(member_idx, draws);
  Sample sample = make_vectors(member_idx, draws);
  sample.clip = std::move(clip);
  return sample;
}

Sample WindowDataset::make_vectors(std::size_t member_idx, const SampleDraws& draws) const {
  const auto& member = common_->members[member_idx];
  const Window window = window_of(member_idx, draws);
  Sample sample;
  sample.id = {static_cast<std::int32_t>(member_idx),
               member.reader().episode_number(draws.episode_idx), draws.start};
  fill_vectors(member_idx, draws, window, sample);
  const auto texts = texts_at(member.scan, draws.episode_idx, draws.start);
  const std::string& text = texts[draws.language_key];
  const auto known = member.prompt_of.find(text);
  sample.prompt =
      known != member.prompt_of.end() ? known->second : fill_prompt(member.source.embodiment, text);
  return sample;
}

// A clip of a member, but for its pictures and draws.
RawClip WindowDataset::no_pictures(std::size_t member_idx) const {
  RawClip raw;
  raw.plan = common_->members[member_idx].plan;
  for (const auto& other : common_->members) {
    const auto pictures = other.plan->num_views * other.rule.clip_frames();
    raw.room = std::max(raw.room, pictures * other.plan->picture_bytes());
  }
  return raw;
}

// The pictures of every view of a window, as recorded.
RawClip WindowDataset::pictures(std::size_t member_idx,
                                const SampleDraws& draws,
                                const Window& window) const {
  const auto& member = common_->members[member_idx];
  RawClip raw = no_pictures(member_idx);
  raw.draws = draws.clip;
  for (const auto& camera : member.source.binding.cameras) {
    raw.view_THWC.push_back(member.reader().read_frames(draws.episode_idx, camera, window.video));
    const at::Tensor& view = raw.view_THWC.back();
    require<ContentError>(
        view.size(1) == member.geometry.in_height && view.size(2) == member.geometry.in_width,
        "LeRobot dataset {}, episode {}, camera {}: pictures of {}x{}, those of the dataset are "
        "{}x{}. Fix: scale the videos to one size, or leave the episode out.",
        member.name(), member.reader().episode_number(draws.episode_idx), camera, view.size(1),
        view.size(2), member.geometry.in_height, member.geometry.in_width);
  }
  return raw;
}

void WindowDataset::fill_vectors(std::size_t member_idx,
                                 const SampleDraws& draws,
                                 const Window& window,
                                 Sample& sample) const {
  const auto& member = common_->members[member_idx];
  const Binding& binding = member.source.binding;
  const auto& options = common_->options;
  const auto state = gather(member.reader(), draws.episode_idx, binding.state, window.state,
                            binding.state_width());
  auto action = gather(member.reader(), draws.episode_idx, binding.action, window.action,
                       binding.action_width());
  make_relative(member.source, state, action, member.rule.horizon);
  sample.state_NS = normalised(member.state.value(), state, options.state_width);
  sample.action_PA = normalised(member.action.value(), action, options.action_width);
  sample.action_mask_PA = at::zeros(sample.action_PA.sizes(), at::kBool);
  sample.action_mask_PA.narrow(1, 0, member.action->width()).fill_(true);
}

std::vector<std::string> WindowDataset::prompts() const {
  std::set<std::string> found;
  for (std::size_t m = 0; m < parts_.size(); ++m) {
    const auto& member = common_->members[m];
    for (const auto e : parts_[m].episodes) {
      for (const auto& text : member.episode(e).texts) {
        found.insert(member.prompt_of.at(text));
      }
    }
  }
  return {found.begin(), found.end()};
}

ActionMeaning WindowDataset::action_meaning(std::int32_t dataset) const {
  return {common_->members.at(static_cast<std::size_t>(dataset)).action.value().names()};
}

at::Tensor WindowDataset::physical_actions(std::int32_t dataset,
                                           const at::Tensor& action_PA) const {
  const auto& normaliser = common_->members.at(static_cast<std::size_t>(dataset)).action.value();
  const at::Tensor in = action_PA.narrow(1, 0, normaliser.width()).to(at::kDouble).contiguous();
  at::Tensor out = at::empty(in.sizes(), at::kDouble);
  for (std::int64_t row = 0; row < in.size(0); ++row) {
    normaliser.inverse(in.const_data_ptr<double>() + row * normaliser.width(),
                       out.data_ptr<double>() + row * normaliser.width());
  }
  return out;
}

std::vector<std::uint64_t> WindowDataset::member_sizes() const {
  std::vector<std::uint64_t> sizes;
  for (const auto& part : parts_) sizes.push_back(part.size());
  return sizes;
}

std::vector<double> WindowDataset::member_weights() const {
  std::vector<double> weights;
  for (const auto& member : common_->members) weights.push_back(member.source.weight);
  return weights;
}

std::vector<std::uint64_t> WindowDataset::shapes() const {
  std::map<std::int64_t, std::uint64_t> window_of_blocks;
  for (std::size_t m = 0; m < parts_.size(); ++m) {
    const Part& part = parts_[m];
    for (std::size_t e = 0; e < part.episodes.size(); ++e) {
      const EpisodeScan& scan = common_->members[m].episode(part.episodes[e]);
      for (const auto& [blocks, start] : scan.first_of_blocks) {
        if (part.only_whole && blocks < common_->options.blocks) continue;
        const std::uint64_t in_episode = common_->options.bug_compatible
                                             ? static_cast<std::uint64_t>(start)
                                             : part.starts_of(scan).before(start);
        window_of_blocks.emplace(blocks, part.offset + part.first[e] + in_episode);
      }
    }
  }
  std::vector<std::uint64_t> out;
  for (const auto& [blocks, window] : window_of_blocks) out.push_back(window);
  return out;
}

std::vector<std::int64_t> WindowDataset::episodes(std::size_t member) const {
  std::vector<std::int64_t> numbers;
  for (const auto e : parts_.at(member).episodes) {
    numbers.push_back(common_->members[member].reader().episode_number(e));
  }
  return numbers;
}

std::int64_t WindowDataset::canvas_height() const {
  return common_->members[0].plan->height;
}
std::int64_t WindowDataset::canvas_width() const {
  return common_->members[0].plan->width;
}
std::int64_t WindowDataset::clip_frames() const {
  return common_->members[0].rule.clip_frames();
}
std::int64_t WindowDataset::action_rows() const {
  return common_->members[0].rule.blocks * common_->members[0].rule.horizon;
}

}  // namespace wam
