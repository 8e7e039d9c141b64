#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include "core/base/names.h"

namespace wam {

// A YAML mapping under inspection: typed reads that note every problem with file, line and path
// instead of throwing at the first one. Internal to data/embodiment.
class Record {
 public:
  Record(YAML::Node node, std::string file, std::string path, std::vector<std::string>& problems)
      : node_(std::move(node)),
        file_(std::move(file)),
        path_(std::move(path)),
        problems_(problems) {}

  // Notes every key that is not in `known`, with the nearest one that is; `wrong` says what
  // that means.
  void only(const std::vector<std::string>& known, std::string_view wrong = "unknown key") const;
  [[nodiscard]] bool has(const std::string& key) const;
  [[nodiscard]] YAML::Node at(const std::string& key) const { return node_[key]; }
  void problem(const YAML::Node& where, const std::string& key, const std::string& text) const;

  // The value, or T{} after noting that it is missing or of another type.
  template <class T>
  T need(const std::string& key) const {
    if (!has(key)) {
      problem(node_, key, fmt::format("missing. Fix: add it, {}", type_name<T>()));
      return T{};
    }
    return get<T>(node_[key], key);
  }
  template <class T>
  T maybe(const std::string& key, T fallback) const {
    return has(key) ? get<T>(node_[key], key) : fallback;
  }
  template <class T>
  T get(const YAML::Node& value, const std::string& key) const {
    try {
      return value.as<T>();
    } catch (const YAML::Exception&) {
      problem(value, key, fmt::format("'{}' is not {}", shown(value), type_name<T>()));
      return T{};
    }
  }
  template <class E>
  E need_enum(const std::string& key) const {
    const auto text = need<std::string>(key);
    return has(key) ? parse<E>(node_[key], key, text) : E{};
  }
  template <class E>
  E parse(const YAML::Node& value, const std::string& key, const std::string& text) const {
    if (const auto found = parse_name<E>(text)) return *found;
    problem(value, key, fmt::format("'{}' is none of {}", text, join(all_names<E>())));
    return E{};
  }

  template <class T>
  static constexpr std::string_view type_name() {
    if constexpr (std::is_same_v<T, std::string>) return "a text";
    if constexpr (std::is_same_v<T, bool>) return "true or false";
    if constexpr (std::is_integral_v<T>) return "a whole number";
    if constexpr (std::is_floating_point_v<T>) return "a number";
    if constexpr (std::is_same_v<T, std::vector<std::string>>) return "a list of texts";
    return "a list of whole numbers";
  }

 private:
  static std::string shown(const YAML::Node& value);

  YAML::Node node_;
  std::string file_;
  std::string path_;
  std::vector<std::string>& problems_;
};

}  // namespace wam
