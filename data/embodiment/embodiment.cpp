#include "data/embodiment/embodiment.h"

#include <algorithm>
#include <set>

#include <fmt/ranges.h>

#include "core/base/errors.h"
#include "data/embodiment/record.h"

namespace wam {
namespace {

using Texts = std::vector<std::string>;
namespace fs = std::filesystem;

const Texts kKeys = {"tag",
                     "id",
                     "views",
                     "state_keys",
                     "action_keys",
                     "language_keys",
                     "language_choice",
                     "crop_scale",
                     "jitter",
                     "canvas",
                     "place",
                     "prompt",
                     "normalisation",
                     "relative_action_keys",
                     "action_horizon",
                     "macro_stride",
                     "video_offsets",
                     "uneven_frames",
                     "column_map"};

bool contains(const Texts& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

std::string nearest_hint(const std::string& word, const Texts& known) {
  const auto nearest = nearest_name(word, known);
  return nearest ? fmt::format("did you mean '{}'?", *nearest)
                 : fmt::format("one of {}", join(known));
}

// "state." or "action." before every key of that kind.
Texts full_names(const Embodiment& e) {
  Texts out;
  for (const auto& key : e.state_keys) out.push_back("state." + key);
  for (const auto& key : e.action_keys) out.push_back("action." + key);
  return out;
}

// A mapping below `key`, or nothing after noting that it is no mapping.
std::optional<Record> section(const Record& top,
                              const std::string& key,
                              const std::string& file,
                              Texts& problems) {
  if (!top.has(key)) return std::nullopt;
  if (!top.at(key).IsMap()) {
    top.problem(top.at(key), key, "is not a mapping");
    return std::nullopt;
  }
  return Record(top.at(key), file, key + ".", problems);
}

class Loader {
 public:
  explicit Loader(const fs::path& file) : file_(file.string()) {}

  Embodiment load() {
    YAML::Node root;
    try {
      root = YAML::LoadFile(file_);
    } catch (const YAML::BadFile&) {
      throw ConfigError(
          fmt::format("reading the embodiment {}: cannot open it. Fix: check the path", file_));
    } catch (const YAML::Exception& error) {
      throw ConfigError(fmt::format("{}:{}: not YAML: {}", file_, error.mark.line + 1, error.msg));
    }
    if (!root.IsMap()) throw ConfigError(fmt::format("{}: not a YAML mapping", file_));
    const Record top(root, file_, "", problems_);
    top.only(kKeys);
    read_keys(top);
    read_pictures(top);
    read_places(top);
    read_normalisation(top);
    read_sampling(top);
    read_columns(top);
    if (!problems_.empty()) throw ConfigError::of(problems_);
    return std::move(out_);
  }

 private:
  void read_keys(const Record& top) {
    out_.tag = top.need<std::string>("tag");
    out_.id = top.need<std::int64_t>("id");
    out_.views = need_list(top, "views");
    out_.state_keys = need_list(top, "state_keys");
    out_.action_keys = need_list(top, "action_keys");
    out_.language_keys = need_list(top, "language_keys");
    out_.language_choice = top.need_enum<LanguageChoice>("language_choice");
    for (const auto& key : out_.language_keys) {
      if (key.rfind("annotation.", 0) != 0) {
        top.problem(top.at("language_keys"), "language_keys",
                    fmt::format("'{}' does not start with 'annotation.'", key));
      }
    }
    out_.prompt = top.need<std::string>("prompt");
    if (top.has("prompt") && out_.prompt.find("{instruction}") == std::string::npos) {
      top.problem(top.at("prompt"), "prompt",
                  "does not name the instruction. Fix: write {instruction} where it goes");
    }
    out_.relative_action_keys = top.maybe<Texts>("relative_action_keys", {});
    for (const auto& key : out_.relative_action_keys) {
      if (contains(out_.action_keys, key) && contains(out_.state_keys, key)) continue;
      top.problem(top.at("relative_action_keys"), "relative_action_keys",
                  fmt::format("'{}' is not both a state and an action key", key));
    }
  }

  Texts need_list(const Record& top, const std::string& key) {
    auto list = top.need<Texts>(key);
    if (top.has(key) && top.at(key).IsSequence() && list.empty()) {
      top.problem(top.at(key), key, "is empty");
    }
    if (std::set<std::string>(list.begin(), list.end()).size() != list.size()) {
      top.problem(top.at(key), key, "names something twice");
    }
    return list;
  }

  double in_range(const Record& record, const std::string& key, double low, double high) {
    const double value = record.need<double>(key);
    if (record.has(key) && !(value >= low && value <= high)) {
      record.problem(record.at(key), key,
                     fmt::format("{} is not between {} and {}", value, low, high));
    }
    return value;
  }

  void read_pictures(const Record& top) {
    out_.crop_scale = in_range(top, "crop_scale", 0.1, 1.0);
    if (!top.has("jitter")) {
      top.problem(YAML::Node(), "jitter",
                  "missing. Fix: add {brightness, contrast, saturation, hue}, 0 for none");
    }
    if (const auto jitter = section(top, "jitter", file_, problems_)) {
      jitter->only({"brightness", "contrast", "saturation", "hue"});
      out_.jitter.brightness = in_range(*jitter, "brightness", 0, 1);
      out_.jitter.contrast = in_range(*jitter, "contrast", 0, 1);
      out_.jitter.saturation = in_range(*jitter, "saturation", 0, 1);
      out_.jitter.hue = in_range(*jitter, "hue", 0, 0.5);
    }
    const auto canvas = pair_of(top, "canvas", {1, 1}, true);
    out_.canvas_rows = canvas[0];
    out_.canvas_cols = canvas[1];
    if (canvas[0] < 1 || canvas[1] < 1) top.problem(top.at("canvas"), "canvas", "is below [1, 1]");
  }

  std::array<std::int64_t, 2> pair_of(const Record& record,
                                      const std::string& key,
                                      std::array<std::int64_t, 2> fallback,
                                      bool required) {
    if (!required && !record.has(key)) return fallback;
    const auto list = record.need<std::vector<std::int64_t>>(key);
    if (list.size() == 2) return {list[0], list[1]};
    if (record.has(key) && record.at(key).IsSequence()) {
      record.problem(record.at(key), key, "is not a pair [rows, columns]");
    }
    return fallback;
  }

  void read_places(const Record& top) {
    if (!top.has("place") || !top.at("place").IsSequence() || top.at("place").size() == 0) {
      top.problem(top.has("place") ? top.at("place") : YAML::Node(), "place",
                  "is not a list of {view, at, span}");
      return;
    }
    std::set<std::pair<std::int64_t, std::int64_t>> taken;
    std::size_t index = 0;
    for (const auto& node : top.at("place")) {
      const Record item(node, file_, fmt::format("place[{}].", index++), problems_);
      if (!node.IsMap()) {
        item.problem(node, "", "is not a mapping");
        continue;
      }
      read_place(item, node, taken);
    }
  }

  void read_place(const Record& item,
                  const YAML::Node& node,
                  std::set<std::pair<std::int64_t, std::int64_t>>& taken) {
    item.only({"view", "at", "span"});
    const auto at = pair_of(item, "at", {0, 0}, true);
    const auto span = pair_of(item, "span", {1, 1}, false);
    const Placement place{item.need<std::int64_t>("view"), at[0], at[1], span[0], span[1]};
    const auto views = static_cast<std::int64_t>(out_.views.size());
    if (place.view < 0 || place.view >= views) {
      item.problem(node, "view", fmt::format("{} is not one of the {} views", place.view, views));
    }
    if (at[0] < 0 || at[1] < 0 || span[0] < 1 || span[1] < 1 ||
        at[0] + span[0] > out_.canvas_rows || at[1] + span[1] > out_.canvas_cols) {
      item.problem(node, "at", "lies outside the canvas");
      return;
    }
    for (std::int64_t cell = 0; cell < span[0] * span[1]; ++cell) {
      if (!taken.emplace(at[0] + cell / span[1], at[1] + cell % span[1]).second) {
        item.problem(node, "at", "covers a part of the canvas that another view has");
        break;
      }
    }
    out_.placements.push_back(place);
  }

  void read_normalisation(const Record& top) {
    const auto known = full_names(out_);
    if (!top.has("normalisation")) {
      top.problem(YAML::Node(), "normalisation", "missing. Fix: one mode for each key");
    }
    const auto modes = section(top, "normalisation", file_, problems_);
    if (!modes) return;
    modes->only(known, "not in state_keys or action_keys");
    for (const auto& key : known) {
      out_.normalisation[key] = modes->need_enum<Normalisation>(key);
    }
  }

  void read_sampling(const Record& top) {
    out_.action_horizon = top.need<std::int64_t>("action_horizon");
    out_.macro_stride = top.need<std::int64_t>("macro_stride");
    out_.video_offsets = top.need<std::vector<std::int64_t>>("video_offsets");
    if (top.has("action_horizon") && out_.action_horizon < 1) {
      top.problem(top.at("action_horizon"), "action_horizon", "is below 1");
    }
    if (top.has("macro_stride") && out_.macro_stride < out_.action_horizon) {
      top.problem(top.at("macro_stride"), "macro_stride",
                  fmt::format("{} is below action_horizon {}: blocks would share actions",
                              out_.macro_stride, out_.action_horizon));
    }
    const auto& offsets = out_.video_offsets;
    const bool ascending = std::is_sorted(offsets.begin(), offsets.end(), std::less_equal<>()) &&
                           offsets.size() >= 2 && offsets.front() == 0;
    if (top.has("video_offsets") && top.at("video_offsets").IsSequence() && !ascending) {
      top.problem(top.at("video_offsets"), "video_offsets",
                  "are not at least two ascending offsets from 0");
    }
    out_.uneven_frames = top.maybe<bool>("uneven_frames", false);
    if (ascending && top.has("macro_stride")) check_spacing(top);
  }

  // Clips of evenly spaced frames: O evenly over S, so that the next anchor follows the last
  // offset.
  void check_spacing(const Record& top) {
    const auto& offsets = out_.video_offsets;
    const auto frames = static_cast<std::int64_t>(offsets.size());
    bool even = out_.macro_stride == frames * offsets[1];
    for (std::int64_t i = 0; i < frames; ++i) {
      even = even && offsets[static_cast<std::size_t>(i)] == i * offsets[1];
    }
    if (even || out_.uneven_frames) return;
    top.problem(top.at("video_offsets"), "video_offsets",
                fmt::format("[{}] do not lie evenly over macro_stride {}, so the frames of a clip "
                            "would be unevenly spaced. Fix: {} offsets 0, m, 2 m, ... with {} m = "
                            "macro_stride, or uneven_frames: true where that is meant",
                            fmt::join(offsets, ", "), out_.macro_stride, frames, frames));
  }

  void read_columns(const Record& top) {
    auto known = full_names(out_);
    for (const auto& view : out_.views) known.push_back("video." + view);
    known.insert(known.end(), out_.language_keys.begin(), out_.language_keys.end());
    const auto columns = section(top, "column_map", file_, problems_);
    if (!columns) return;
    columns->only(known, "not in views, state_keys, action_keys or language_keys");
    for (const auto& entry : top.at("column_map")) {
      const auto key = entry.first.as<std::string>("");
      if (!contains(known, key)) continue;
      const Record item(entry.second, file_, fmt::format("column_map.{}.", key), problems_);
      if (!entry.second.IsMap()) {
        item.problem(entry.second, "", "is not a mapping {column, start, end}");
        continue;
      }
      read_column(item, key);
    }
  }

  void read_column(const Record& item, const std::string& key) {
    const bool vector = key.rfind("state.", 0) == 0 || key.rfind("action.", 0) == 0;
    item.only(vector ? Texts{"column", "start", "end"} : Texts{"column"});
    ColumnOverride column{item.need<std::string>("column"), std::nullopt, std::nullopt};
    if (vector && (item.has("start") || item.has("end"))) {  // without both: the whole column
      column.start = item.need<std::int64_t>("start");
      column.end = item.need<std::int64_t>("end");
      if (item.has("start") && item.has("end") &&
          (*column.start < 0 || *column.end <= *column.start)) {
        item.problem(item.at("end"), "end", "is not above start");
      }
    }
    out_.column_map.emplace(key, column);
  }

  std::string file_;
  Texts problems_;
  Embodiment out_;
};

}  // namespace

bool Embodiment::is_relative(const std::string& action_key) const {
  return contains(relative_action_keys, action_key);
}

Embodiment read_embodiment(const fs::path& file) {
  return Loader(file).load();
}

std::vector<std::string> embodiment_names(const fs::path& folder) {
  Texts names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Embodiment find_embodiment(const std::string& name, const fs::path& folder) {
  const fs::path as_path(name);
  if (name.find('/') != std::string::npos || as_path.extension() == ".yaml" ||
      as_path.extension() == ".yml") {
    return read_embodiment(as_path);
  }
  const auto names = embodiment_names(folder);
  require<ConfigError>(!names.empty(),
                       "looking for the embodiment '{}': no records in {}. Fix: set WAM_CONFIG_DIR "
                       "to the folder that holds embodiment/*.yaml, or give the path of a record",
                       name, folder.string());
  require<ConfigError>(contains(names, name),
                       "unknown embodiment '{}'. Known: {}. Fix: {} (or the path of a YAML file)",
                       name, join(names), nearest_hint(name, names));
  return read_embodiment(folder / (name + ".yaml"));
}

}  // namespace wam
