#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wam::unicode {

// Code points of valid UTF-8; nothing for malformed bytes (surrogates and overlong forms included).
std::optional<std::u32string> decode(std::string_view utf8);
std::string encode(std::u32string_view text);

// Unicode normalisation forms.
std::u32string nfc(std::u32string_view text);
std::u32string nfkc(std::u32string_view text);

// False for code points without a meaning yet: their normalisation may change.
bool is_assigned(char32_t c);
// Decimal digits of any script.
bool is_digit(char32_t c);
// The white space that Python's str.strip and re's \s know.
bool is_space(char32_t c);
inline bool is_ascii(char32_t c) {
  return c < 0x80;
}

}  // namespace wam::unicode
