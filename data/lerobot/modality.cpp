#include "data/lerobot/meta_parts.h"

namespace wam {
namespace {

bool has_value(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && !found->is_null();
}

LeRobotModalityEntry read_entry(const std::string& name,
                                const Json& json,
                                const std::string& where) {
  LeRobotModalityEntry entry;
  entry.name = name;
  require<DataError>(json.is_object(), "{}: not an object. Fix: mend the file.", where);
  if (has_value(json, "original_key")) {
    entry.original_key = json_field<std::string>(json, "original_key", "a column's name", where);
  }
  if (has_value(json, "start")) {
    entry.start = json_field<std::int64_t>(json, "start", "a whole number", where);
  }
  if (has_value(json, "end")) {
    entry.end = json_field<std::int64_t>(json, "end", "a whole number", where);
  }
  if (has_value(json, "rotation_type")) {
    entry.rotation_type = json_field<std::string>(json, "rotation_type", "a text", where);
  }
  if (has_value(json, "absolute")) {
    entry.absolute = json_field<bool>(json, "absolute", "true or false", where);
  }
  if (has_value(json, "dtype")) {
    entry.dtype = json_field<std::string>(json, "dtype", "a text", where);
  }
  return entry;
}

std::vector<LeRobotModalityEntry> read_section(const Json& json,
                                               const char* section,
                                               const std::string& where) {
  std::vector<LeRobotModalityEntry> entries;
  if (!has_value(json, section)) return entries;
  const Json& object = json.at(section);
  require<DataError>(object.is_object(), "{}: '{}' is no object. Fix: mend the file.", where,
                     section);
  for (const auto& [name, entry] : object.items()) {
    entries.push_back(read_entry(name, entry, fmt::format("{}, {}.{}", where, section, name)));
  }
  return entries;
}

}  // namespace

std::optional<LeRobotModality> read_modality(const std::filesystem::path& root) {
  const auto path = root / "meta" / "modality.json";
  if (!std::filesystem::exists(path)) return std::nullopt;
  const std::string where = path.string();
  const Json json = read_json_object(path);
  LeRobotModality modality;
  modality.state = read_section(json, "state", where);
  modality.action = read_section(json, "action", where);
  modality.video = read_section(json, "video", where);
  modality.annotation = read_section(json, "annotation", where);
  return modality;
}

}  // namespace wam
