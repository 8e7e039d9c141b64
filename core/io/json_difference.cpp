#include "core/io/json_difference.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/base/errors.h"

namespace wam {

std::vector<std::string> json_differences(const std::string& what,
                                          const std::string& saved,
                                          const std::string& wanted,
                                          const TwoSides& sides) {
  using Json = nlohmann::ordered_json;
  const Json saved_json = Json::parse(saved, nullptr, false);
  const Json wanted_json = Json::parse(wanted, nullptr, false);
  require<InvariantError>(saved_json.is_structured() && wanted_json.is_structured(),
                          "{}: not JSON objects: {} or {}", what, saved, wanted);
  const Json a = saved_json.flatten();
  const Json b = wanted_json.flatten();
  std::vector<std::string> out;
  const auto key_of = [&](std::string pointer) {
    std::replace(pointer.begin(), pointer.end(), '/', '.');
    return what + pointer;
  };
  for (const auto& [pointer, value] : a.items()) {
    if (!b.contains(pointer)) {
      out.push_back(fmt::format("{}: {} {}, {} has no such value", key_of(pointer), sides.saved,
                                value.dump(), sides.wanted));
    } else if (b.at(pointer) != value) {
      out.push_back(fmt::format("{}: {} {}, {} {}", key_of(pointer), sides.saved, value.dump(),
                                sides.wanted, b.at(pointer).dump()));
    }
  }
  for (const auto& [pointer, value] : b.items()) {
    if (!a.contains(pointer)) {
      out.push_back(fmt::format("{}: {} has no such value, {} {}", key_of(pointer), sides.saved,
                                sides.wanted, value.dump()));
    }
  }
  return out;
}

}  // namespace wam
