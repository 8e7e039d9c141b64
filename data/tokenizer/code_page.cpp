#include "data/tokenizer/code_page.h"

namespace wam {
namespace {

#include "data/tokenizer/code_pages.inc"

constexpr std::size_t kWindows1252 = 1;
constexpr char32_t kSubstitute = 0x1A;

}  // namespace

std::optional<std::uint8_t> CodePage::byte_of(char32_t c) const {
  if (c < 0x80 && !(sloppy && c == kSubstitute)) return static_cast<std::uint8_t>(c);
  const std::size_t at = upper.find(c);
  if (c < 0x80 || at == std::u32string_view::npos) return std::nullopt;
  return static_cast<std::uint8_t>(0x80 + at);
}

std::span<const CodePage> code_pages() {
  return kCodePages;
}

char32_t windows_1252(std::uint8_t byte) {
  return byte < 0x80 ? byte : kCodePages[kWindows1252].upper[byte - 0x80U];
}

}  // namespace wam
