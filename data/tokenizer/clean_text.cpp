#include "data/tokenizer/clean_text.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/base/errors.h"
#include "data/tokenizer/code_page.h"
#include "data/tokenizer/html_entities.h"
#include "data/tokenizer/mojibake.h"
#include "data/tokenizer/unicode.h"

namespace wam {
namespace {

using Text = std::u32string;

constexpr std::size_t kLongest = 1'000'000;  // ftfy cuts longer lines
constexpr char32_t kEscape = 0x1B;

[[noreturn]] void refuse(std::string_view shown, std::string_view why) {
  throw DataError(fmt::format(
      "cleaning the text \"{}\": {}. The reference's cleaning (ftfy) may alter such text in a way "
      "that is not reproduced here.\nFix: write the text as the cleaned, valid UTF-8 that is "
      "meant.",
      shown, why));
}

void refuse_damage(const Text& text, const std::string& original) {
  for (const char32_t c : text) {
    if (c == 0xFFFD) refuse(original, "it holds U+FFFD, the sign of a character that was lost");
    if (!unicode::is_assigned(c)) {
      refuse(original, fmt::format("U+{:04X} is not a character of Unicode 15",
                                   static_cast<std::uint32_t>(c)));
    }
  }
}

// ---- The steps of ftfy 6.3.1, in its order ------------------------------------------------------

Text repair_mojibake(Text text, const std::string& original) {
  while (true) {
    EncodingRepair repair = repair_encoding(text);
    if (repair.kind == EncodingRepair::Kind::kUncertain) refuse(original, repair.why);
    if (repair.kind == EncodingRepair::Kind::kClean) return text;
    text = std::move(repair.text);
    refuse_damage(text, original);
  }
}

constexpr std::pair<char32_t, std::u32string_view> kLigatures[] = {
    {0x0132, U"IJ"},      {0x0133, U"ij"},      {0x0149, U"\u02BCn"}, {0x01C4, U"D\u017D"},
    {0x01C5, U"D\u017E"}, {0x01C6, U"d\u017E"}, {0x01C7, U"LJ"},      {0x01C8, U"Lj"},
    {0x01C9, U"lj"},      {0x01CA, U"NJ"},      {0x01CB, U"Nj"},      {0x01CC, U"nj"},
    {0x01F1, U"DZ"},      {0x01F2, U"Dz"},      {0x01F3, U"dz"},      {0xFB00, U"ff"},
    {0xFB01, U"fi"},      {0xFB02, U"fl"},      {0xFB03, U"ffi"},     {0xFB04, U"ffl"},
    {0xFB05, U"\u017Ft"}, {0xFB06, U"st"},
};

Text expand_ligatures(const Text& text) {
  Text out;
  for (const char32_t c : text) {
    const auto* at = std::find_if(std::begin(kLigatures), std::end(kLigatures),
                                  [c](const auto& entry) { return entry.first == c; });
    if (at == std::end(kLigatures)) {
      out.push_back(c);
    } else {
      out += at->second;
    }
  }
  return out;
}

// Half- and full-width forms to the ordinary ones.
Text normal_width(const Text& text) {
  Text out;
  for (const char32_t c : text) {
    if (c == 0x3000) {
      out.push_back(U' ');
    } else if (c >= 0xFF01 && c <= 0xFFEF) {
      out += unicode::nfkc(Text(1, c));
    } else {
      out.push_back(c);
    }
  }
  return out;
}

Text straighten_quotes(Text text) {
  for (char32_t& c : text) {
    if (c == 0x02BC || (c >= 0x2018 && c <= 0x201B)) c = U'\'';
    if (c >= 0x201C && c <= 0x201F) c = U'"';
  }
  return text;
}

Text unify_line_breaks(const Text& text) {
  Text out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char32_t c = text[at];
    const bool pair = c == U'\r' && at + 1 < text.size() && text[at + 1] == U'\n';
    if (pair) continue;  // the line feed follows
    const bool is_break = c == U'\r' || c == 0x2028 || c == 0x2029 || c == 0x85;
    out.push_back(is_break ? U'\n' : c);
  }
  return out;
}

// The length of "ESC [ digits and semicolons letter" at the start of `text`; 0: none.
std::size_t escape_length(std::u32string_view text) {
  if (text.size() < 3 || text[0] != kEscape || text[1] != U'[') return 0;
  std::size_t at = 2;
  while (at < text.size() && (text[at] == U';' || unicode::is_digit(text[at]))) ++at;
  if (at == text.size()) return 0;
  const char32_t last = text[at];
  const bool letter = (last >= U'a' && last <= U'z') || (last >= U'A' && last <= U'Z');
  return letter ? at + 1 : 0;
}

Text remove_terminal_escapes(const Text& text) {
  Text out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = escape_length(std::u32string_view(text).substr(at));
    if (length == 0) out.push_back(text[at]);
    at += std::max<std::size_t>(length, 1);
  }
  return out;
}

bool is_control(char32_t c) {
  return c <= 0x08 || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F ||
         (c >= 0x206A && c <= 0x206F) || c == 0xFEFF || (c >= 0xFFF9 && c <= 0xFFFC);
}

Text remove_controls(Text text) {
  std::erase_if(text, is_control);
  return text;
}

// One line (its break included) until nothing changes any more.
Text repair_line(Text text, bool unescape, const std::string& original) {
  while (true) {
    const Text before = text;
    if (unescape) text = unescape_closed_html(text);
    refuse_damage(text, original);
    text = repair_mojibake(std::move(text), original);
    text = expand_ligatures(text);
    text = normal_width(text);
    text = straighten_quotes(std::move(text));
    text = unify_line_breaks(text);
    text = remove_terminal_escapes(text);
    text = remove_controls(std::move(text));
    text = unicode::nfc(text);
    if (text == before) return text;
  }
}

Text repair_text(const Text& text, const std::string& original) {
  Text out;
  bool unescape = true;  // until the first "<": after that it may be HTML that is meant
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t newline = text.find(U'\n', at);
    const std::size_t end = newline == Text::npos ? text.size() : newline + 1;
    const Text line = text.substr(at, end - at);
    if (line.find(U'<') != Text::npos) unescape = false;
    out += repair_line(line, unescape, original);
    at = end;
  }
  return out;
}

Text collapse_spaces(const Text& text) {
  Text out;
  for (const char32_t c : text) {
    if (!unicode::is_space(c)) {
      out.push_back(c);
    } else if (!out.empty() && out.back() != U' ') {
      out.push_back(U' ');
    }
  }
  if (!out.empty() && out.back() == U' ') out.pop_back();
  return out;
}

}  // namespace

std::string clean_text(const std::string& text) {
  const auto decoded = unicode::decode(text);
  if (!decoded) refuse(text, "it is not valid UTF-8");
  if (decoded->size() > kLongest) {
    refuse(text.substr(0, 40) + "…", "it has more than a million characters");
  }
  Text out = repair_text(*decoded, text);
  out = unescape_html(unescape_html(out));
  refuse_damage(out, text);
  return unicode::encode(collapse_spaces(out));
}

}  // namespace wam
