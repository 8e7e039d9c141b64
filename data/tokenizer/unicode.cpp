#include "data/tokenizer/unicode.h"

#include <cstdlib>
#include <memory>

#include <utf8proc.h>

#include "core/base/errors.h"

namespace wam::unicode {
namespace {

using Bytes = std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)>;

const utf8proc_uint8_t* bytes_of(const std::string& text) {
  return reinterpret_cast<const utf8proc_uint8_t*>(text.data());
}

std::u32string normalise(std::u32string_view text, int form) {
  const std::string utf8 = encode(text);
  utf8proc_uint8_t* raw = nullptr;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | form);
  const utf8proc_ssize_t length =
      utf8proc_map(bytes_of(utf8), static_cast<utf8proc_ssize_t>(utf8.size()), &raw, options);
  const Bytes owned(raw, &std::free);
  invariant(length >= 0, "normalising valid UTF-8 failed");
  const std::string_view mapped(reinterpret_cast<const char*>(raw),
                                static_cast<std::size_t>(length));
  std::optional<std::u32string> out = decode(mapped);
  invariant(out.has_value(), "utf8proc returned malformed UTF-8");
  return *std::move(out);
}

}  // namespace

std::optional<std::u32string> decode(std::string_view utf8) {
  std::u32string out;
  const auto* at = reinterpret_cast<const utf8proc_uint8_t*>(utf8.data());
  auto left = static_cast<utf8proc_ssize_t>(utf8.size());
  while (left > 0) {
    utf8proc_int32_t c = 0;
    const utf8proc_ssize_t used = utf8proc_iterate(at, left, &c);
    if (used <= 0) return std::nullopt;
    out.push_back(static_cast<char32_t>(c));
    at += used;
    left -= used;
  }
  return out;
}

std::string encode(std::u32string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char32_t c : text) {
    utf8proc_uint8_t bytes[4];
    const utf8proc_ssize_t count = utf8proc_encode_char(static_cast<utf8proc_int32_t>(c), bytes);
    out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(count));
  }
  return out;
}

std::u32string nfc(std::u32string_view text) {
  return normalise(text, 0);
}
std::u32string nfkc(std::u32string_view text) {
  return normalise(text, UTF8PROC_COMPAT);
}

bool is_assigned(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c)) != UTF8PROC_CATEGORY_CN;
}

bool is_digit(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c)) == UTF8PROC_CATEGORY_ND;
}

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

}  // namespace wam::unicode
