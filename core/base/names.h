#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wam {

// The candidate with the smallest edit distance to `word`, or nothing when all are far off
// (more than a third of the longer word differs, at least 2 edits).
std::optional<std::string> nearest_name(std::string_view word,
                                        const std::vector<std::string>& candidates);

// "a, b, c" for messages.
std::string join(const std::vector<std::string>& parts, std::string_view separator = ", ");

// One table of names per enum, used to parse, to print and to validate. Specialise:
//   template <> struct EnumNames<Color> {
//     static constexpr std::array table{std::pair{Color::kRed, "red"}, ...};
//   };
template <class E>
struct EnumNames;

template <class E>
constexpr std::string_view name_of(E value) {
  for (const auto& [v, name] : EnumNames<E>::table) {
    if (v == value) return name;
  }
  return "?";
}

template <class E>
std::optional<E> parse_name(std::string_view text) {
  for (const auto& [v, name] : EnumNames<E>::table) {
    if (text == name) return v;
  }
  return std::nullopt;
}

template <class E>
std::vector<std::string> all_names() {
  std::vector<std::string> out;
  for (const auto& entry : EnumNames<E>::table) out.emplace_back(entry.second);
  return out;
}

}  // namespace wam
