#include "data/tokenizer/html_entities.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "data/tokenizer/code_page.h"

namespace wam {
namespace {

#include "data/tokenizer/html_entities.inc"

using Entity = std::pair<std::string_view, std::u32string_view>;

constexpr std::size_t kLongestName = 32;        // as html.unescape reads them
constexpr std::size_t kLongestClosedName = 24;  // as ftfy reads them
constexpr char32_t kReplacement = 0xFFFD;
constexpr std::uint32_t kLastCodePoint = 0x10FFFF;

bool is_decimal(char32_t c) {
  return c >= U'0' && c <= U'9';
}
bool is_letter(char32_t c) {
  return (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z');
}
bool is_hex(char32_t c) {
  return is_decimal(c) || (c >= U'a' && c <= U'f') || (c >= U'A' && c <= U'F');
}

std::optional<std::u32string_view> find(std::span<const Entity> table, std::u32string_view name) {
  std::string key;
  for (const char32_t c : name) {
    if (c >= 0x80) return std::nullopt;
    key.push_back(static_cast<char>(c));
  }
  const auto at =
      std::lower_bound(table.begin(), table.end(), key,
                       [](const Entity& e, const std::string& k) { return e.first < k; });
  if (at == table.end() || at->first != key) return std::nullopt;
  return at->second;
}

// HTML5 drops what can never be a character of a text.
bool is_dropped(std::uint32_t c) {
  const bool control =
      (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || (c >= 0x7F && c <= 0x9F);
  const bool noncharacter = (c >= 0xFDD0 && c <= 0xFDEF) || (c & 0xFFFEU) == 0xFFFEU;
  return control || noncharacter;
}

// Appends the character of a numeric reference; C1 numbers mean Windows-1252.
void append_number(std::u32string& out, std::uint32_t number) {
  if (number >= 0x80 && number <= 0x9F) {
    out.push_back(windows_1252(static_cast<std::uint8_t>(number)));
  } else if (number == 0 || (number >= 0xD800 && number <= 0xDFFF) || number > kLastCodePoint) {
    out.push_back(kReplacement);
  } else if (!is_dropped(number)) {
    out.push_back(number);
  }
}

struct Number {
  std::uint32_t value = 0;
  std::size_t length = 0;  // of "#…", without a semicolon; 0: not a number
};

// `text` starts after the ampersand.
Number parse_number(std::u32string_view text) {
  if (text.size() < 2 || text[0] != U'#') return {};
  const bool hex = text[1] == U'x' || text[1] == U'X';
  const std::size_t start = hex ? 2 : 1;
  Number out;
  std::size_t at = start;
  for (; at < text.size() && (hex ? is_hex(text[at]) : is_decimal(text[at])); ++at) {
    const char32_t c = text[at];
    const std::uint32_t digit = is_decimal(c) ? c - U'0' : (c | 0x20U) - U'a' + 10;
    out.value = std::min(out.value * (hex ? 16 : 10) + digit, kLastCodePoint + 1);
  }
  if (at > start) out.length = at;
  return out;
}

// The name after an ampersand, semicolon included.
std::u32string_view name_at(std::u32string_view text) {
  constexpr std::u32string_view kStops = U"\t\n\f <&#;";
  std::size_t length = 0;
  while (length < text.size() && length < kLongestName &&
         kStops.find(text[length]) == kStops.npos) {
    ++length;
  }
  if (length > 0 && length < text.size() && text[length] == U';') ++length;
  return text.substr(0, length);
}

// Decodes the reference after an ampersand into `out`; returns how much of `text` it was.
std::size_t decode_reference(std::u32string_view text, std::u32string& out) {
  if (const Number number = parse_number(text); number.length > 0) {
    append_number(out, number.value);
    const bool closed = number.length < text.size() && text[number.length] == U';';
    return number.length + (closed ? 1 : 0);
  }
  const std::u32string_view name = name_at(text);
  // The whole name first; of its beginnings only those of two letters and more.
  for (std::size_t length = name.size(); length > 0; --length) {
    if (length < 2 && length != name.size()) break;
    if (const auto value = find(kEntities, name.substr(0, length))) {
      out += *value;
      return length;
    }
  }
  out.push_back(U'&');
  return 0;
}

// The same for a closed reference; 0 when there is none.
std::size_t decode_closed(std::u32string_view text, std::u32string& out) {
  const std::size_t first = !text.empty() && text[0] == U'#' ? 1 : 0;
  std::size_t end = first;
  while (end < text.size() && (is_decimal(text[end]) || is_letter(text[end]))) ++end;
  const std::size_t letters = end - first;
  if (letters == 0 || letters > kLongestClosedName || end == text.size() || text[end] != U';') {
    return 0;
  }
  if (first == 1) {
    const Number number = parse_number(text);
    // A reference to the semicolon itself stays, as in the reference.
    if (number.length != end || number.value == U';') return 0;
    append_number(out, number.value);
    return end + 1;
  }
  const std::u32string_view name = text.substr(0, end + 1);
  const std::span<const Entity> tables[] = {kEntities, kShoutedEntities};
  for (const std::span<const Entity> table : tables) {
    if (const auto value = find(table, name)) {
      out += *value;
      return end + 1;
    }
  }
  return 0;
}

}  // namespace

std::u32string unescape_html(std::u32string_view text) {
  std::u32string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != U'&') {
      out.push_back(text[at++]);
    } else {
      at += 1 + decode_reference(text.substr(at + 1), out);
    }
  }
  return out;
}

std::u32string unescape_closed_html(std::u32string_view text) {
  std::u32string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t used = text[at] == U'&' ? decode_closed(text.substr(at + 1), out) : 0;
    if (used == 0) {
      out.push_back(text[at++]);
    } else {
      at += 1 + used;
    }
  }
  return out;
}

}  // namespace wam
