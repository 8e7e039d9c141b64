#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace wam {

// A single-byte encoding whose lower half is ASCII.
struct CodePage {
  std::string_view name;
  // Bytes without a character stand for the C1 control of their number; U+001A has no byte.
  bool sloppy;
  std::u32string_view upper;  // the characters of bytes 0x80 to 0xFF

  [[nodiscard]] std::optional<std::uint8_t> byte_of(char32_t c) const;
};

// The pages through which UTF-8 is read by mistake, in the order in which ftfy 6.3.1 tries them:
// Latin-1, Windows-1252, -1251, -1250, -1253, -1254, -1257, Latin-2, Mac Roman, DOS 437.
std::span<const CodePage> code_pages();

// The character of a byte in Windows-1252 (undefined bytes: the C1 control).
char32_t windows_1252(std::uint8_t byte);

}  // namespace wam
