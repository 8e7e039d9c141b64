#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include "data/embodiment/draft.h"

namespace wam {
namespace {

void entry(YAML::Emitter& out, const std::string& key, const auto& value) {
  out << YAML::Key << key << YAML::Value << value;
}

void flow_entry(YAML::Emitter& out, const std::string& key, const auto& list) {
  out << YAML::Key << key << YAML::Value << YAML::Flow << list;
}

void jitter(YAML::Emitter& out, const JitterStrength& strength) {
  out << YAML::Key << "jitter" << YAML::Value << YAML::Flow << YAML::BeginMap;
  entry(out, "brightness", strength.brightness);
  entry(out, "contrast", strength.contrast);
  entry(out, "saturation", strength.saturation);
  entry(out, "hue", strength.hue);
  out << YAML::EndMap;
}

void layout(YAML::Emitter& out, const Embodiment& e) {
  using Pair = std::vector<std::int64_t>;
  flow_entry(out, "canvas", Pair{e.canvas_rows, e.canvas_cols});
  out << YAML::Key << "place" << YAML::Value << YAML::BeginSeq;
  for (const auto& place : e.placements) {
    out << YAML::Flow << YAML::BeginMap;
    entry(out, "view", place.view);
    flow_entry(out, "at", Pair{place.row, place.col});
    flow_entry(out, "span", Pair{place.row_span, place.col_span});
    out << YAML::EndMap;
  }
  out << YAML::EndSeq;
}

void columns(YAML::Emitter& out, const Embodiment& e) {
  if (e.column_map.empty()) return;
  out << YAML::Key << "column_map" << YAML::Value << YAML::BeginMap;
  for (const auto& [key, column] : e.column_map) {
    out << YAML::Key << key << YAML::Value << YAML::Flow << YAML::BeginMap;
    entry(out, "column", column.column);
    if (column.start) entry(out, "start", *column.start);
    if (column.end) entry(out, "end", *column.end);
    out << YAML::EndMap;
  }
  out << YAML::EndMap;
}

}  // namespace

std::string record_text(const EmbodimentDraft& draft) {
  const Embodiment& e = draft.record;
  std::string text;
  for (const auto& note : draft.notes) text += fmt::format("# {}.\n", note);
  YAML::Emitter out;
  out.SetDoublePrecision(6);
  out << YAML::BeginMap;
  entry(out, "tag", e.tag);
  entry(out, "id", e.id);
  flow_entry(out, "views", e.views);
  flow_entry(out, "state_keys", e.state_keys);
  flow_entry(out, "action_keys", e.action_keys);
  flow_entry(out, "language_keys", e.language_keys);
  entry(out, "language_choice", std::string(name_of(e.language_choice)));
  entry(out, "crop_scale", e.crop_scale);
  jitter(out, e.jitter);
  layout(out, e);
  out << YAML::Key << "prompt" << YAML::Value << YAML::DoubleQuoted << e.prompt;
  out << YAML::Key << "normalisation" << YAML::Value << YAML::BeginMap;
  for (const auto& [key, mode] : e.normalisation) entry(out, key, std::string(name_of(mode)));
  out << YAML::EndMap;
  flow_entry(out, "relative_action_keys", e.relative_action_keys);
  entry(out, "action_horizon", e.action_horizon);
  entry(out, "macro_stride", e.macro_stride);
  flow_entry(out, "video_offsets", e.video_offsets);
  if (e.uneven_frames) entry(out, "uneven_frames", true);
  columns(out, e);
  out << YAML::EndMap;
  return text + out.c_str() + "\n";
}

}  // namespace wam
