#include "data/embodiment/draft.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "core/base/errors.h"
#include "core/base/names.h"
#include "data/lerobot/columns.h"

namespace wam {
namespace {

constexpr std::int64_t kPictures = 8;  // of a block
constexpr double kBetweenPictures_s = 0.2;

std::string last_part(const std::string& name) {
  return name.substr(name.rfind('.') + 1);
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

struct Camera {
  std::string view;
  std::string column;
};

std::vector<Camera> cameras_of(const LeRobotMeta& meta) {
  std::vector<Camera> out;
  if (meta.modality) {
    for (const auto& entry : meta.modality->video)
      out.push_back({entry.name, find_camera(meta, entry.name)});
  }
  if (!out.empty()) return out;
  for (const auto& feature : meta.info.features) {
    if (!feature.is_camera()) continue;
    const std::string name = last_part(feature.name);
    const bool is_taken = std::any_of(out.begin(), out.end(),
                                      [&](const Camera& other) { return other.view == name; });
    out.push_back({is_taken ? feature.name : name, feature.name});
  }
  return out;
}

bool is_vector(const LeRobotFeature& feature, VectorKind kind) {
  if (feature.is_camera() || feature.dtype == "string" || feature.dtype == "language") return false;
  const std::string& name = feature.name;
  if (kind == VectorKind::kAction) {
    return name == "action" || name.starts_with("action.") || name.starts_with("actions");
  }
  return name == "state" || name.starts_with("state.") || name.starts_with("observation.state");
}

using Keys = std::vector<std::pair<std::string, ColumnSlice>>;

// The values from the first one named as a gripper's on, where all from there are; the width where
// none or not all are.
std::int64_t gripper_start(const LeRobotFeature& feature) {
  const std::int64_t width = feature.num_values();
  std::int64_t start = 0;
  std::int64_t found = width;
  for (const auto& part : feature.parts) {
    const bool is_gripper = lower(part.name).find("grip") != std::string::npos;
    if (is_gripper && found == width) found = start;
    if (!is_gripper && found != width) return width;
    start += part.width;
  }
  return start == width && found > 0 ? found : width;
}

void add_column(const LeRobotFeature& feature, bool is_only, Keys& out) {
  const std::int64_t width = feature.num_values();
  const std::int64_t gripper = is_only ? gripper_start(feature) : width;
  if (gripper < width) {
    out.push_back({"joint_position", {feature.name, 0, gripper}});
    out.push_back({"gripper_position", {feature.name, gripper, width}});
    return;
  }
  std::string name = is_only ? last_part(feature.name) : feature.name;
  std::replace(name.begin(), name.end(), '.', '_');
  out.push_back({name, {feature.name, 0, width}});
}

Keys keys_of(const LeRobotMeta& meta, VectorKind kind) {
  Keys out;
  if (meta.modality) {
    std::vector<std::string> names;
    for (const auto& entry :
         kind == VectorKind::kState ? meta.modality->state : meta.modality->action)
      names.push_back(entry.name);
    const auto slices = find_vector_columns(meta, kind, names);
    for (std::size_t k = 0; k < names.size(); ++k) out.emplace_back(names[k], slices[k]);
  }
  if (!out.empty()) return out;
  std::vector<const LeRobotFeature*> columns;
  for (const auto& feature : meta.info.features) {
    if (is_vector(feature, kind)) columns.push_back(&feature);
  }
  for (const auto* column : columns) add_column(*column, columns.size() == 1, out);
  return out;
}

// Where view v is, in words for a prompt.
std::string position(const Embodiment& e, const Placement& place) {
  if (e.canvas_rows == 1) return place.col == 0 ? "left" : "right";
  if (e.canvas_rows > 2 || e.canvas_cols > 2)
    return fmt::format("row {} column {}", place.row + 1, place.col + 1);
  return fmt::format("{}-{}", place.row == 0 ? "top" : "bottom", place.col == 0 ? "left" : "right");
}

// All views side by side in a square that is as small as can be, and a prompt that says so.
void lay_out(Embodiment& e) {
  const auto views = static_cast<std::int64_t>(e.views.size());
  while (e.canvas_cols * e.canvas_cols < views) ++e.canvas_cols;
  e.canvas_rows = (views + e.canvas_cols - 1) / e.canvas_cols;
  std::vector<std::string> parts;
  for (std::int64_t v = 0; v < views; ++v) {
    e.placements.push_back({v, v / e.canvas_cols, v % e.canvas_cols, 1, 1});
    parts.push_back(fmt::format("the {} view shows the camera {}", position(e, e.placements.back()),
                                e.views[static_cast<std::size_t>(v)]));
  }
  e.prompt = views == 1 ? "A single view video shows that a robot {instruction}"
                        : fmt::format(
                              "A multi-view video shows that a robot {{instruction}} The video is "
                              "split into {} views: {}. The robot {{instruction}}",
                              views, join(parts));
  e.crop_scale = 0.95;
  e.jitter = {0.3, 0.4, 0.5, 0.08};
}

// The cameras in the order of the views of `like`: by name, the others as they come.
std::vector<Camera> matched(std::vector<Camera> cameras, const Embodiment& like) {
  std::vector<Camera> out(like.views.size());
  const auto take = [&](std::size_t v, std::vector<Camera>::iterator camera) {
    out[v] = *camera;
    cameras.erase(camera);
  };
  for (std::size_t v = 0; v < out.size(); ++v) {
    const auto named = std::find_if(cameras.begin(), cameras.end(), [&](const Camera& camera) {
      return lower(camera.view).find(like.views[v]) != std::string::npos;
    });
    if (named != cameras.end()) take(v, named);
  }
  for (std::size_t v = 0; v < out.size(); ++v) {
    if (out[v].column.empty()) take(v, cameras.begin());
  }
  return out;
}

class Drafter {
 public:
  Drafter(const LeRobotMeta& meta, const Embodiment* like) : meta_(meta), like_(like) {}

  EmbodimentDraft draft() {
    name();
    cameras();
    vectors(VectorKind::kState, out_.record.state_keys);
    vectors(VectorKind::kAction, out_.record.action_keys);
    language();
    spacing();
    relative();
    return std::move(out_);
  }

 private:
  void note(std::string text) { out_.notes.push_back(std::move(text)); }

  void name() {
    Embodiment& e = out_.record;
    e.tag = like_ != nullptr ? like_->tag : meta_.name();
    e.id = like_ != nullptr ? like_->id : 0;
  }

  void cameras() {
    Embodiment& e = out_.record;
    auto cameras = cameras_of(meta_);
    require<DataError>(!cameras.empty(),
                       "embodiment for LeRobot dataset {}: its info.json lists no camera. Fix: "
                       "another dataset",
                       meta_.root.string());
    if (like_ != nullptr) {
      require<DataError>(cameras.size() >= like_->views.size(),
                         "embodiment for LeRobot dataset {}: it has {} cameras, and {} shows {} "
                         "({}). Fix: another --like, or none",
                         meta_.root.string(), cameras.size(), like_->tag, like_->views.size(),
                         join(like_->views));
      if (cameras.size() > like_->views.size())
        note(fmt::format("{} shows {} of the {} cameras", like_->tag, like_->views.size(),
                         cameras.size()));
      cameras = matched(std::move(cameras), *like_);
    }
    for (const auto& camera : cameras) {
      e.views.push_back(camera.view);
      e.column_map["video." + camera.view] = {camera.column, std::nullopt, std::nullopt};
    }
    if (like_ == nullptr) return lay_out(e);
    e.prompt = like_->prompt;
    e.canvas_rows = like_->canvas_rows;
    e.canvas_cols = like_->canvas_cols;
    e.placements = like_->placements;
    e.crop_scale = like_->crop_scale;
    e.jitter = like_->jitter;
    note(
        fmt::format("views stand for {} of {}, in this order: check that the prompt is true of "
                    "them",
                    join(like_->views), like_->tag));
  }

  void vectors(VectorKind kind, std::vector<std::string>& keys) {
    const bool state = kind == VectorKind::kState;
    const auto found = keys_of(meta_, kind);
    std::vector<std::string> names;
    for (const auto& feature : meta_.info.features) names.push_back(feature.name);
    require<DataError>(!found.empty(),
                       "embodiment for LeRobot dataset {}: no column looks like {}. Found: {}. "
                       "Fix: describe it in meta/modality.json",
                       meta_.root.string(), state ? "a state" : "an action", join(names));
    for (const auto& [key, slice] : found) {
      keys.push_back(key);
      const std::string full = (state ? "state." : "action.") + key;
      out_.record.normalisation[full] = like_ != nullptr && like_->normalisation.contains(full)
                                            ? like_->normalisation.at(full)
                                            : Normalisation::kQ99;
      out_.record.column_map[full] = {slice.column, slice.start, slice.end};
    }
  }

  // Of the known robot's relative keys those that this one has, too.
  void relative() {
    Embodiment& e = out_.record;
    const auto has = [](const std::vector<std::string>& keys, const std::string& key) {
      return std::find(keys.begin(), keys.end(), key) != keys.end();
    };
    if (like_ != nullptr) {
      for (const auto& key : like_->relative_action_keys) {
        if (has(e.state_keys, key) && has(e.action_keys, key))
          e.relative_action_keys.push_back(key);
      }
    }
    note(
        fmt::format("relative actions: {}; list in relative_action_keys what is an absolute "
                    "target of the state of the same name",
                    e.relative_action_keys.empty() ? "none" : join(e.relative_action_keys)));
  }

  void language() {
    Embodiment& e = out_.record;
    e.language_choice = LanguageChoice::kUniform;
    if (meta_.modality) {
      for (const auto& entry : meta_.modality->annotation)
        e.language_keys.push_back("annotation." + entry.name);
    }
    for (const auto& feature : meta_.info.features) {
      const bool is_new = std::find(e.language_keys.begin(), e.language_keys.end(), feature.name) ==
                          e.language_keys.end();
      if (!meta_.modality && feature.name.starts_with("annotation.") && is_new)
        e.language_keys.push_back(feature.name);
    }
    if (e.language_keys.empty()) e.language_keys = {"annotation.task"};
    for (const auto& key : e.language_keys) {
      e.column_map[key] = {find_language_column(meta_, key), std::nullopt, std::nullopt};
    }
  }

  void spacing() {
    Embodiment& e = out_.record;
    const auto between =
        std::max<std::int64_t>(1, std::llround(kBetweenPictures_s * meta_.info.fps));
    for (std::int64_t i = 0; i < kPictures; ++i) e.video_offsets.push_back(i * between);
    e.macro_stride = kPictures * between;
    e.action_horizon = e.macro_stride;
    note(
        fmt::format("at {} frames/s a picture every {} frames, a block of {} frames and as many "
                    "actions",
                    meta_.info.fps, between, e.macro_stride));
  }

  const LeRobotMeta& meta_;
  const Embodiment* like_;
  EmbodimentDraft out_;
};

}  // namespace

EmbodimentDraft draft_embodiment(const LeRobotMeta& meta, const Embodiment* like) {
  return Drafter(meta, like).draft();
}

}  // namespace wam
