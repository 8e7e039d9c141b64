#include "core/recipe/writer.h"

#include <algorithm>

#include <fmt/core.h>

namespace wam::recipe {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
         c == '_' || c == '.' || c == '-';
}

// Words and digits that YAML would take for something else than text.
bool is_safe_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '/' || c == '_';
}

}  // namespace

std::string yaml_text(std::string_view text) {
  const bool plain = !text.empty() && text != "null" && text != "~" && text != "true" &&
                     text != "false" && is_safe_start(text.front()) &&
                     std::all_of(text.begin(), text.end(), is_plain);
  if (plain) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string yaml_number(double value) {
  return fmt::format("{}", value);
}

}  // namespace wam::recipe
