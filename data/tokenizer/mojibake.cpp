#include "data/tokenizer/mojibake.h"

#include <algorithm>
#include <optional>

#include <fmt/core.h>

#include "data/tokenizer/code_page.h"
#include "data/tokenizer/unicode.h"

namespace wam {
namespace {

using unicode::is_ascii;

constexpr std::size_t kDirectPages = 2;  // Latin-1 and Windows-1252 come first
constexpr std::size_t kLatinLikePages = 8;

bool is_c1(char32_t c) {
  return c >= 0x80 && c <= 0x9F;
}
bool contains(std::u32string_view set, char32_t c) {
  return set.find(c) != set.npos;
}

// ---- Does it look like UTF-8? -------------------------------------------------------------------

bool is_continuation(std::uint8_t byte) {
  return (byte & 0xC0U) == 0x80U;
}

// What may stand where a continuation byte was: the byte; a blank for 0xA0; a question mark for a
// lost one.
bool may_continue(std::uint8_t byte) {
  return is_continuation(byte) || byte == ' ' || byte == '?';
}

// ftfy accepts a damaged sequence of two bytes only after these.
bool may_start_damaged_pair(std::uint8_t lead) {
  return contains(U"\u00C2\u00C3\u00C5\u00CE\u00D0\u00D9", lead);
}

// The length of a UTF-8 sequence, whole or damaged, that `bytes` starts with; 0: none.
std::size_t sequence_length(std::string_view bytes) {
  const auto lead = static_cast<std::uint8_t>(bytes.front());
  const std::size_t length = lead < 0xC0   ? 0
                             : lead < 0xE0 ? 2
                             : lead < 0xF0 ? 3
                             : lead < 0xF8 ? 4
                                           : 0;
  if (length == 0 || bytes.size() < length) return 0;
  std::size_t damaged = 0;
  for (std::size_t k = 1; k < length; ++k) {
    const auto byte = static_cast<std::uint8_t>(bytes[k]);
    if (!may_continue(byte)) return 0;
    if (!is_continuation(byte)) ++damaged;
  }
  if (damaged > 1) return 0;
  return damaged == 1 && length == 2 && !may_start_damaged_pair(lead) ? 0 : length;
}

// The bytes that `text` was on this page; nothing if it holds a character that the page lacks.
std::optional<std::string> bytes_on(const CodePage& page, std::u32string_view text) {
  std::string out;
  for (const char32_t c : text) {
    const auto byte = page.byte_of(c);
    if (!byte) return std::nullopt;
    out.push_back(static_cast<char>(*byte));
  }
  return out;
}

// The bytes of the characters before the first one that the page lacks.
std::string leading_bytes_on(const CodePage& page, std::u32string_view text) {
  std::string out;
  for (const char32_t c : text) {
    const auto byte = page.byte_of(c);
    if (!byte) break;
    out.push_back(static_cast<char>(*byte));
  }
  return out;
}

// ASCII and sequences (damaged ones too), at least one of them, and nothing else.
bool looks_like_utf8(std::string_view bytes) {
  bool any = false;
  for (std::size_t at = 0; at < bytes.size();) {
    if (static_cast<std::uint8_t>(bytes[at]) < 0x80) {
      ++at;
      continue;
    }
    const std::size_t length = sequence_length(bytes.substr(at));
    if (length == 0) return false;
    any = true;
    at += length;
  }
  return any;
}

// A byte that starts sequences, on one of the Latin-like pages.
bool may_lead(char32_t c) {
  const auto pages = code_pages().first(kLatinLikePages);
  return std::any_of(pages.begin(), pages.end(),
                     [c](const CodePage& page) { return page.byte_of(c).value_or(0) >= 0xC0; });
}

// Where a part of `text` starts that is one sequence on one of the pages; npos: nowhere.
// ftfy looks for parts that start with a first byte of a Latin-like page, and then reads them on
// any.
std::size_t find_embedded(std::u32string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (is_ascii(text[at]) || !may_lead(text[at])) continue;
    for (const CodePage& page : code_pages()) {
      const std::string bytes = leading_bytes_on(page, text.substr(at, 4));
      if (!bytes.empty() && sequence_length(bytes) > 0) return at;
    }
  }
  return std::u32string_view::npos;
}

// ---- Is it honest text? -------------------------------------------------------------------------

// U+0490 is left out: behind a small letter it is a sign of mojibake.
bool is_cyrillic(char32_t c) {
  return (c >= 0x0410 && c <= 0x044F) ||
         contains(U"\u0401\u0451\u0406\u0456\u0407\u0457\u0404\u0454\u0491\u040E\u045E", c);
}

bool is_greek(char32_t c) {
  return (c >= 0x0391 && c <= 0x03CE && c != 0x03A2) || c == 0x0386 || (c >= 0x0388 && c <= 0x038F);
}

// U+0178 and the ligatures oe are left out: they are what mojibake is made of.
bool is_lower_latin(char32_t c) {
  return (c >= 0xDF && c <= 0xFF && c != 0xF7) ||
         contains(
             U"\u0101\u0103\u0105\u0107\u010D\u010F\u0111\u0113\u0117\u0119\u011B\u011F\u0123"
             U"\u012B\u012F\u0131\u0137\u013A\u013C\u013E\u0142\u0144\u0146\u0148\u0151\u0155"
             U"\u0159\u015B\u015F\u0161\u0163\u0165\u016B\u016F\u0171\u0173\u017A\u017C\u017E",
             c);
}

bool is_upper_latin(char32_t c) {
  return (c >= 0xC0 && c <= 0xDE && c != 0xD7) ||
         contains(
             U"\u0100\u0102\u0104\u0106\u010C\u010E\u0110\u0112\u0116\u0118\u011A\u011E\u0122"
             U"\u012A\u012E\u0130\u0136\u0139\u013B\u013D\u0141\u0143\u0145\u0147\u0150\u0154"
             U"\u0158\u015A\u015E\u0160\u0162\u0164\u016A\u016E\u0170\u0172\u0179\u017B\u017D",
             c);
}

constexpr char32_t kApostrophe = 0x2019;

// First bytes of two-byte sequences and, behind them, letters that are continuation bytes.
bool is_dishonest_in_word(char32_t first, char32_t second) {
  return contains(U"\u00C2\u00C3\u00CE\u00D0", first) &&
         contains(U"\u0160\u0161\u017D\u017E", second);
}

bool is_latin_word(std::u32string_view run) {
  char32_t before = 0;
  for (const char32_t c : run) {
    const bool upper = is_upper_latin(c);
    if (!upper && !is_lower_latin(c) && c != kApostrophe) return false;
    if (upper && is_lower_latin(before)) return false;
    if (is_dishonest_in_word(before, c)) return false;
    before = c;
  }
  return true;
}

// Letters of one script as people write them.
bool is_word(std::u32string_view run) {
  const auto all = [run](bool (*is_letter)(char32_t)) {
    return std::all_of(run.begin(), run.end(),
                       [is_letter](char32_t c) { return c == kApostrophe || is_letter(c); });
  };
  return all(is_cyrillic) || all(is_greek) || is_latin_word(run);
}

// True only for text that ftfy's test of badness passes. That test looks at pairs and triples of
// neighbours outside ASCII, and at a few single characters before a blank or a sign.
bool is_certainly_honest(std::u32string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (is_ascii(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && !is_ascii(text[end])) ++end;
    const std::u32string_view run = text.substr(at, end - at);
    const char32_t next = end < text.size() ? text[end] : U'\0';
    const bool next_is_letter = (next >= U'a' && next <= U'z') || (next >= U'A' && next <= U'Z');
    if (contains(U"\u00C2\u00C3", run.back()) && next == U' ') return false;
    if (contains(U"\u0152\u0153", run.back()) && !next_is_letter) return false;
    if (is_c1(run.front()) || (run.size() > 1 && !is_word(run))) return false;
    at = end;
  }
  return true;
}

// ---- Is it certainly not? -----------------------------------------------------------------------

struct Pairs {
  std::u32string_view first;
  std::u32string_view second;
};

// First bytes of UTF-8 sequences and, behind them, symbols that no language writes there.
constexpr Pairs kDishonestPairs[] = {
    {U"\u00C2\u00C3\u00CE\u00D0",  // A circumflex, A tilde, I circumflex, Eth
     U"\u20AC\u201A\u0192\u201E\u2020\u2021\u02C6\u2030\u0160\u2039\u2018\u201C\u201D\u2022\u2013"
     U"\u2014\u02DC\u2122\u0161\u203A\u0153\u017E\u0178\u00A0\u00A1\u00A2\u00A3\u00A4\u00A6\u00A7"
     U"\u00A8\u00A9\u00AA\u00AB\u00AC\u00AD\u00AE\u00AF\u00B0\u00B1\u00B2\u00B3\u00B4\u00B5\u00B6"
     U"\u00B7\u00B8\u00B9\u00BA\u00BB\u00BC\u00BD\u00BE\u00BF"},
    {U"\u00C4\u00C5\u00C6\u00C7\u00C8\u00C9\u00CA\u00CB\u00CC\u00CD\u00CF\u00D1\u00D8",
     U"\u0192\u2020\u2021\u02C6\u2030\u02DC\u00A4\u00A6\u00A7\u00A8\u00AA\u00AC\u00AF\u00B0\u00B1"
     U"\u00B2\u00B3\u00B5\u00B6\u00B8\u00B9\u00BA\u00BC\u00BD\u00BE"},
    {U"\u00E0\u00E1\u00E2\u00E3\u00E4\u00E5\u00E6\u00E7\u00F0\u00F1",
     U"\u20AC\u0192\u2020\u2021\u02C6\u2030\u0160\u0152\u017D\u02DC\u0178\u00A2\u00A3\u00A4\u00A5"
     U"\u00A6\u00A8\u00AA\u00AC\u00AF\u00B8\u00BA"},
};

bool is_certainly_dishonest(std::u32string_view text) {
  if (std::any_of(text.begin(), text.end(), is_c1)) return true;
  for (std::size_t k = 0; k + 1 < text.size(); ++k) {
    for (const Pairs& pairs : kDishonestPairs) {
      if (contains(pairs.first, text[k]) && contains(pairs.second, text[k + 1])) return true;
    }
  }
  return false;
}

// ---- Repairs ------------------------------------------------------------------------------------

EncodingRepair uncertain(std::string why) {
  return {EncodingRepair::Kind::kUncertain, {}, std::move(why)};
}

// A C1 control behind a character that could be the first byte of the same sequence.
bool c1_may_belong_to_a_sequence(std::u32string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!is_c1(text[at])) continue;
    for (std::size_t back = 1; back <= std::min<std::size_t>(3, at); ++back) {
      const char32_t before = text[at - back];
      if (is_ascii(before) && before != U' ' && before != U'?') break;
      if (may_lead(before)) return true;
    }
  }
  return false;
}

EncodingRepair repair_c1(std::u32string_view text) {
  EncodingRepair out;
  for (const char32_t c : text) {
    out.text.push_back(is_c1(c) ? windows_1252(static_cast<std::uint8_t>(c)) : c);
  }
  if (out.text != text) out.kind = EncodingRepair::Kind::kRepaired;
  return out;
}

// The first page on which the whole text could be UTF-8 decides, as in ftfy.
std::optional<EncodingRepair> repair_whole(std::u32string_view text) {
  std::size_t index = 0;
  for (const CodePage& page : code_pages()) {
    const std::size_t at = index++;
    const auto bytes = bytes_on(page, text);
    if (!bytes || !looks_like_utf8(*bytes)) continue;
    auto decoded = unicode::decode(*bytes);
    if (decoded && at < kDirectPages && is_certainly_dishonest(text)) {
      return EncodingRepair{EncodingRepair::Kind::kRepaired, *std::move(decoded), {}};
    }
    return uncertain(fmt::format("it may be UTF-8 that was read as {}", page.name));
  }
  return std::nullopt;
}

}  // namespace

EncodingRepair repair_encoding(std::u32string_view text) {
  if (std::all_of(text.begin(), text.end(), is_ascii) || is_certainly_honest(text)) return {};
  if (auto whole = repair_whole(text)) return *std::move(whole);
  if (const std::size_t at = find_embedded(text); at != text.npos) {
    return uncertain(
        fmt::format("the part starting at \"{}\" may be UTF-8 that was read in another "
                    "encoding",
                    unicode::encode(text.substr(at, 4))));
  }
  if (c1_may_belong_to_a_sequence(text)) {
    return uncertain("it holds a C1 control behind a character that may belong to it");
  }
  return repair_c1(text);
}

}  // namespace wam
