#include "core/base/format.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/core.h>

namespace wam {

std::string with_commas(std::int64_t value) {
  std::string digits = fmt::format("{}", value < 0 ? -value : value);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return value < 0 ? "-" + digits : digits;
}

std::string counted(std::int64_t count, std::string_view word) {
  return fmt::format("{} {}{}", with_commas(count), word, count == 1 ? "" : "s");
}

std::string human_bytes(double bytes) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  while (bytes >= 1000.0 && unit + 1 < kUnits.size()) {
    bytes /= 1024.0;
    ++unit;
  }
  if (unit == 0) return fmt::format("{:.0f} B", bytes);
  return fmt::format("{:.{}f} {}", bytes, bytes < 10 ? 2 : (bytes < 100 ? 1 : 0), kUnits[unit]);
}

std::string human_seconds(double seconds) {
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(seconds + 0.5);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

namespace {

// A text without line breaks.
std::string wrapped_line(std::string_view text, std::size_t columns, std::size_t indent) {
  std::string out;
  std::string line(indent, ' ');
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    const auto word = text.substr(0, end);
    if (line.size() > indent && line.size() + word.size() + 1 > columns) {
      out += line + "\n";
      line.assign(indent, ' ');
    }
    if (line.size() > indent) line += ' ';
    line += word;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out + line + "\n";
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent) {
  std::string out;
  while (true) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    const bool whole = line.substr(0, 1) == " ";
    out +=
        whole ? std::string(indent, ' ').append(line) + "\n" : wrapped_line(line, columns, indent);
    if (end == text.size()) return out;
    text.remove_prefix(end + 1);
  }
}

}  // namespace wam
