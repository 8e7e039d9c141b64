#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/base/errors.h"
#include "core/base/names.h"
#include "core/base/now_reading.h"
#include "core/io/atomic_file.h"
#include "data/normalise/statistics.h"

namespace wam {
namespace {

using nlohmann::json;

constexpr std::array<std::pair<const char*, std::vector<double> KeyStatistics::*>, 6> kNumbers{
    {{"min", &KeyStatistics::min},
     {"max", &KeyStatistics::max},
     {"mean", &KeyStatistics::mean},
     {"std", &KeyStatistics::std},
     {"q01", &KeyStatistics::q01},
     {"q99", &KeyStatistics::q99}}};

struct Place {
  const std::filesystem::path& file;
  std::string path;

  [[nodiscard]] Place in(const std::string& key) const { return {file, path + "." + key}; }
  [[noreturn]] void fail(const std::string& text) const {
    throw DataError(
        fmt::format("reading {}: {}: {}. Fix: make the file anew (data.statistics: "
                    "compute), or correct it",
                    file.string(), path, text));
  }
};

const json& member(const json& node, const std::string& key, const Place& place) {
  if (!node.is_object() || !node.contains(key)) place.fail(fmt::format("has no '{}'", key));
  return node.at(key);
}

std::vector<double> numbers(const json& node, const Place& place) {
  if (!node.is_array()) place.fail("is not a list of numbers");
  std::vector<double> out;
  for (const auto& value : node) {
    if (!value.is_number()) place.fail("is not a list of numbers");
    out.push_back(value.get<double>());
  }
  return out;
}

KeyStatistics read_key(const json& node, const json& modality, const Place& place) {
  KeyStatistics out;
  for (const auto& [name, field] : kNumbers) {
    out.*field = numbers(member(node, name, place), place.in(name));
    if ((out.*field).size() != out.width() || out.width() == 0) {
      place.in(name).fail(
          fmt::format("has {} values where min has {}", (out.*field).size(), out.width()));
    }
  }
  if (modality.is_object() && modality.contains("relative")) {
    if (!modality.at("relative").is_boolean()) place.fail("'relative' is neither true nor false");
    out.relative = modality.at("relative").get<bool>();
  }
  return out;
}

std::map<std::string, KeyStatistics> read_kind(const json& entry,
                                               const std::string& kind,
                                               const Place& place) {
  std::map<std::string, KeyStatistics> out;
  const Place here = place.in("statistics");
  const json& keys = member(member(entry, "statistics", place), kind, here);
  if (!keys.is_object()) here.in(kind).fail("is not an object");
  const json modalities = entry.value(json::json_pointer("/modalities/" + kind), json::object());
  for (const auto& [key, value] : keys.items()) {
    out.emplace(key, read_key(value, modalities.value(key, json::object()), here.in(kind).in(key)));
  }
  return out;
}

// `resolution` is [width, height] in DreamZero and [height, width] in RLinf's generator, so the
// caller compares it with the pictures in either order.
std::map<std::string, CameraMeta> read_cameras(const json& entry, const Place& place) {
  std::map<std::string, CameraMeta> out;
  const json cameras = entry.value(json::json_pointer("/modalities/video"), json::object());
  for (const auto& [key, value] : cameras.items()) {
    const Place here = place.in("modalities.video").in(key);
    const auto size = numbers(member(value, "resolution", here), here.in("resolution"));
    if (size.size() != 2) here.in("resolution").fail("is not a pair");
    const json& fps = member(value, "fps", here);
    if (!fps.is_number()) here.in("fps").fail("is not a number");
    out[key] = {static_cast<std::int64_t>(size[1]), static_cast<std::int64_t>(size[0]),
                fps.get<double>()};
  }
  return out;
}

json shape_of(const KeyStatistics& key, bool action) {
  json out = {{"absolute", true},
              {"rotation_type", nullptr},
              {"shape", {key.width()}},
              {"continuous", true}};
  if (action && key.relative) out["relative"] = *key.relative;
  return out;
}

json entry_of(const Statistics& statistics) {
  json out = {{"embodiment_tag", statistics.tag}};
  for (const bool action : {false, true}) {
    const std::string kind = action ? "action" : "state";
    out["statistics"][kind] = json::object();
    for (const auto& [key, values] : action ? statistics.action : statistics.state) {
      for (const auto& [name, field] : kNumbers) {
        out["statistics"][kind][key][name] = values.*field;
      }
      out["modalities"][kind][key] = shape_of(values, action);
    }
  }
  for (const auto& [key, camera] : statistics.video) {
    out["modalities"]["video"][key] = {
        {"resolution", {camera.width, camera.height}}, {"channels", 3}, {"fps", camera.fps}};
  }
  return out;
}

}  // namespace

std::map<std::string, Statistics> read_metadata(const std::filesystem::path& file) {
  const Reading reading(file);
  return parse_metadata(read_file(file), file);
}

std::map<std::string, Statistics> parse_metadata(const std::string& text,
                                                 const std::filesystem::path& file) {
  json root;
  try {
    root = json::parse(text);
  } catch (const json::exception& error) {
    throw DataError(
        fmt::format("reading {}: not JSON: {}. Fix: make the file anew "
                    "(data.statistics: compute)",
                    file.string(), error.what()));
  }
  std::map<std::string, Statistics> out;
  if (!root.is_object()) Place{file, "top"}.fail("is not an object");
  for (const auto& [tag, entry] : root.items()) {
    const Place place{file, tag};
    out[tag] = {tag, read_kind(entry, "state", place), read_kind(entry, "action", place),
                read_cameras(entry, place)};
  }
  return out;
}

Statistics read_statistics(const std::filesystem::path& file, const std::string& tag) {
  const auto all = read_metadata(file);
  if (const auto found = all.find(tag); found != all.end()) return found->second;
  std::vector<std::string> tags;
  for (const auto& entry : all) tags.push_back(entry.first);
  const auto nearest = nearest_name(tag, tags);
  throw DataError(
      fmt::format("looking for the statistics of embodiment '{}' in {}: it holds {}. Fix: {}", tag,
                  file.string(), tags.empty() ? "none" : join(tags),
                  nearest ? fmt::format("did you mean '{}'?", *nearest)
                          : std::string("data.statistics: compute, or another file")));
}

std::string metadata_text(const std::map<std::string, Statistics>& entries) {
  json root = json::object();
  for (const auto& [tag, statistics] : entries) root[tag] = entry_of(statistics);
  return root.dump(2) + "\n";
}

std::string with_entry(const std::string& text,
                       const std::filesystem::path& file,
                       const Statistics& statistics) {
  parse_metadata(text, file);
  json root = json::parse(text);
  root[statistics.tag] = entry_of(statistics);
  return root.dump(2) + "\n";
}

void write_metadata(const std::filesystem::path& file,
                    const std::map<std::string, Statistics>& entries) {
  write_file_atomically(file, metadata_text(entries));
}

}  // namespace wam
