#include <nlohmann/json.hpp>

#include "core/base/errors.h"
#include "core/io/hash.h"
#include "data/dataset/window_dataset_impl.h"

namespace wam {
namespace {

using Json = nlohmann::ordered_json;
using Member = WindowDataset::Common::Member;

std::string in_words(const StreamHash& hash) {
  return "xxh3 " + hash_hex(hash.digest());
}

std::string hash_of(const std::string& text) {
  return "xxh3 " + hash_hex(content_hash(text.data(), text.size()));
}

std::string size_text(std::int64_t height, std::int64_t width) {
  return fmt::format("{}x{}", height, width);
}

void add(StreamHash& hash, const std::vector<std::int64_t>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  hash.update(&count, sizeof count);
  hash.update(values.data(), values.size() * sizeof(std::int64_t));
}

// Numbers, lengths, labels and starts of every episode.
std::string hash_of_episodes(const Member& member) {
  StreamHash hash;
  for (std::size_t e = 0; e < member.scan.episodes.size(); ++e) {
    const EpisodeScan& scan = member.scan.episodes[e];
    std::vector<std::int64_t> facts = {member.reader().episode_number(static_cast<std::int64_t>(e)),
                                       scan.facts.length};
    for (const FrameRun& run : scan.facts.labels) {
      facts.push_back(run.begin);
      facts.push_back(run.value);
    }
    add(hash, facts);
    add(hash, scan.starts.values());
  }
  return in_words(hash);
}

std::string hash_of_texts(const Member& member) {
  StreamHash hash;
  for (const EpisodeScan& scan : member.scan.episodes) {
    for (const std::string& text : scan.texts) {
      hash.update(text.c_str(), text.size() + 1);  // with its end
    }
    hash.update("\n", 1);
  }
  return in_words(hash);
}

Json describe_rule(const WindowRule& rule) {
  return {{"sampling", name_of(rule.sampling)}, {"blocks", rule.blocks},
          {"action_horizon", rule.horizon},     {"macro_stride", rule.stride},
          {"video_offsets", rule.offsets},      {"bug_compatible", rule.bug_compatible}};
}

// View, place and repetition of each cell of the canvas.
Json describe_places(const ClipPlan& plan) {
  Json out = Json::array();
  for (const ClipPlan::Place& at : plan.places) {
    out.push_back({at.view, at.top, at.left, at.repeat_rows, at.repeat_columns});
  }
  return out;
}

Json describe_member(const Member& member) {
  const DatasetMember& source = member.source;
  const ViewGeometry& picture = member.geometry;
  std::uint64_t windows = 0;
  for (const EpisodeScan& scan : member.scan.episodes) windows += scan.starts.size();
  return {{"embodiment", source.embodiment.tag},
          {"embodiment_record", hash_of(describe(source.embodiment))},
          {"statistics", hash_of(metadata_text({{source.statistics->tag, *source.statistics}}))},
          {"weight", source.weight},
          {"num_episodes", member.scan.episodes.size()},
          {"num_windows", windows},
          {"num_held_back_episodes", source.held_back_episodes},
          {"episodes_and_starts", hash_of_episodes(member)},
          {"instruction_texts", hash_of_texts(member)},
          {"files", "xxh3 " + files_fingerprint(*source.reader, source.binding.cameras)},
          {"fps", source.reader->meta().info.fps},
          {"picture", size_text(picture.in_height, picture.in_width)}};
}

}  // namespace

std::string WindowDataset::fingerprint() const {
  const WindowDatasetOptions& options = common_->options;
  Json datasets = Json::array();
  for (const Member& member : common_->members) datasets.push_back(describe_member(member));
  Json all{{"blocks", options.blocks},
           {"view", size_text(options.view_height, options.view_width)},
           {"state_width", options.state_width},
           {"action_width", options.action_width},
           {"sampling", name_of(options.sampling)},
           {"bug_compatible", options.bug_compatible},
           {"datasets", datasets}};
  // Only there, so that runs from before there were any can be resumed.
  if (options.augmentations > 0) all["augmentations"] = options.augmentations;
  return all.dump();
}

std::string WindowDataset::picture_fingerprint(std::size_t member_idx) const {
  const WindowDatasetOptions& options = common_->options;
  const Member& member = common_->members[member_idx];
  const DatasetMember& source = member.source;
  Json all{{"files", "xxh3 " + files_fingerprint(*source.reader, source.binding.cameras)},
           {"cameras", source.binding.cameras},
           {"episodes_and_starts", hash_of_episodes(member)},
           {"window", describe_rule(member.rule)},
           {"picture", size_text(member.geometry.in_height, member.geometry.in_width)},
           {"crop_scale", member.geometry.crop_scale},
           {"view", size_text(options.view_height, options.view_width)},
           {"canvas", size_text(member.plan->height, member.plan->width)},
           {"placements", describe_places(*member.plan)},
           {"augmentations", options.augmentations}};
  if (options.augmentations > 1) {
    const JitterStrength& jitter = source.embodiment.jitter;
    all["jitter"] = {jitter.brightness, jitter.contrast, jitter.saturation, jitter.hue};
    all["seed"] = options.seed;
  }
  return all.dump();
}

}  // namespace wam
