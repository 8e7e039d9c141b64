#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/names.h"

// A section of a recipe is a plain struct next to the component that it configures:
//
//   struct LogSection {
//     std::int64_t every = 10;
//     template <class V> void fields(V&& v) {
//       v("every", every, "steps between two lines of metrics (steps)", at_least(1));
//     }
//   };
//
// Loading, --set, --help-recipe, dumping and hashing all walk this one function. Members may be
// bool, whole numbers, double, std::string, std::filesystem::path, enums with EnumNames,
// std::optional of these (written `auto`), std::vector or std::array of these, other sections, and
// vectors of sections. A struct of resolved values has fields() too, without optionals.

namespace wam {

// Bounds of a number, or of every number of a list.
struct Range {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool min_excluded = false;
  bool max_excluded = false;

  [[nodiscard]] constexpr bool contains(double x) const {
    return (min_excluded ? x > min : x >= min) && (max_excluded ? x < max : x <= max);
  }
  // "at least 1", "from 0 to 1", "above 0 and below 1".
  [[nodiscard]] std::string text() const;
};
constexpr Range at_least(double min) {
  return {.min = min};
}
constexpr Range above(double min) {
  return {.min = min, .min_excluded = true};
}
constexpr Range between(double min, double max) {
  return {.min = min, .max = max};
}
constexpr Range at_least_below(double min, double max) {
  return {.min = min, .max = max, .max_excluded = true};
}

// Names that an enum will have, for a refusal in words. Specialise beside EnumNames:
//   template <> struct PlannedNames<Strategy> {
//     static constexpr std::array<std::string_view, 1> table{"full_shard"}; };
template <class E>
struct PlannedNames {
  static constexpr std::array<std::string_view, 0> table{};
};

namespace recipe {

struct AnyVisitor {
  template <class... A>
  void operator()(A&&... arguments) const;
};
template <class T>
concept Section = requires(T section, AnyVisitor visitor) {
  section.fields(visitor);
};
template <class T>
concept Number = std::same_as<T, double> ||(std::integral<T> && !std::same_as<T, bool>);

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsArray : std::false_type {};
template <class T, std::size_t N>
struct IsArray<std::array<T, N>> : std::true_type {};

// What a value of this type is called in messages and in the help: "a whole number".
template <class T>
std::string type_text() {
  if constexpr (IsOptional<T>::value) {
    return "auto or " + type_text<typename T::value_type>();
  } else if constexpr (IsArray<T>::value) {
    return "a list of " + std::to_string(std::tuple_size_v<T>) + ", each " +
           type_text<typename T::value_type>();
  } else if constexpr (IsVector<T>::value) {
    return "a list, each item " + type_text<typename T::value_type>();
  } else if constexpr (std::same_as<T, bool>) {
    return "true or false";
  } else if constexpr (std::integral<T>) {
    return "a whole number";
  } else if constexpr (std::same_as<T, double>) {
    return "a number";
  } else if constexpr (std::same_as<T, std::filesystem::path>) {
    return "a path";
  } else if constexpr (std::is_enum_v<T>) {
    return join(all_names<T>(), " | ");
  } else if constexpr (Section<T>) {
    return "a section with keys of its own";
  } else {
    static_assert(std::same_as<T, std::string>, "no such member in a recipe section");
    return "text";
  }
}

}  // namespace recipe
}  // namespace wam
