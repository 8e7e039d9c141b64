#include "data/tokenizer/clean_text.h"

#include <string>
#include <utility>

#include "core/base/errors.h"
#include "test/support/catch.h"

namespace wam {
namespace {

using Case = std::pair<std::string, std::string>;

void check_all(std::initializer_list<Case> cases) {
  for (const auto& [input, expected] : cases) {
    CAPTURE(input);
    CHECK(clean_text(input) == expected);
  }
}

std::string refusal(const std::string& input) {
  try {
    const std::string output = clean_text(input);
    FAIL("cleaned \"" << input << "\" to \"" << output << "\" instead of refusing it");
  } catch (const DataError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

// The expected texts are what ftfy 6.3.1 and Python 3.11 make of the inputs.

TEST_CASE("Clean text of many languages passes unchanged") {
  for (const std::string text :
       {"pick up the cup", "Stelle die schöne Tasse über den Fuß", "Árvíztűrő tükörfúrógép",
        "Položyć żółtą kostkę, Łódź", "В комнате стоит её ёлка. Лёд", "Київ і її їжак",
        "Πάρε το κόκκινο φλιτζάνι", "¿Dónde está? ¡mañana!", "Årets rød grød på øen",
        "45° ± 2 × 3 ≥ 1", "Tiếng Việt: đặt cốc lên bàn", "把红色的杯子放到架子上。",
        "로봇이 빨간 컵을", "مرحبا بالعالم", "à gauche, « à droite »", "5 € – 10 £ … ™"}) {
    CAPTURE(text);
    CHECK(clean_text(text) == text);
  }
}

TEST_CASE("White space is trimmed and every run of it becomes one blank") {
  check_all({{"", ""},
             {" \t\r\n", ""},
             {"a\u00a0\u3000 b\u2003\n\nc ", "a b c"},
             {"a\x0b"
              "b\x0c"
              "c",
              "ab c"}});
}

TEST_CASE("Quotes, ligatures, width and composition become the plain forms") {
  check_all({{"“a” ‘b’ ʼc", "\"a\" 'b' 'c"},
             {"Ĳssel ŉ ǆ ﬅ ﬁ", "IJssel 'n dž ſt fi"},
             {"ＡＢ１ ￠ ﾊﾟ", "AB1 ¢ パ"},
             {"e\u0301\u0327 \u1100\u1161 \u212b", "\u0229\u0301 가 Å"}});
}

TEST_CASE("Control characters and terminal escapes are removed") {
  check_all({{"\x1b[1;31mred\x1b[0m \x1b[x \x1b", "red"},
             {"\ufeff\u206a\ufff9move\x7f", "move"},
             {"\u202amove\u202c \u2060", "\u202amove\u202c \u2060"},
             {"it\u0092s 10\u0080", "it's 10€"},
             {"\u00a0\u0085\u00a0", "…"}});
}

TEST_CASE("Text that is UTF-8 read as Latin-1 or Windows-1252 is decoded again") {
  check_all({{"naÃ¯ve cafÃ©", "naïve café"},
             {"donâ€™t", "don't"},
             {"ÐŸÑ€Ð¸Ð²ÐµÑ‚ Ð¼Ð¸Ñ€", "Привет мир"},
             {"ðŸ‘\u008d", "👍"},
             {"Ã\u0083Â©", "é"}});
}

TEST_CASE("HTML references are decoded, in lines with a tag only the way HTML does it") {
  check_all({{"&NTILDE;&lt;&notit;&notin;", "Ñ<¬it;∉"},
             {"a < b &amp; &eacute;", "a < b & é"},
             {"x &amp\n<i> &amp;amp; &copy", "x & <i> & ©"},
             {"&#59; &#38;lt; &ampamp;", "; < &"}});
}

TEST_CASE("Text that only statistics can judge is refused, with the text and a fix") {
  for (const std::string text : {"pick schÃ¶n – now", "cafÃ© “x”", "gröÃŸe Ñ€", "Г\u00a0 вЂ”",
                                 "aÅ¡", "IRMÃ NÃO", "ƒàa úσ¬¼ ‡» caω"}) {
    CAPTURE(text);
    const std::string why = refusal(text);
    CHECK(why.find(text) != std::string::npos);
    CHECK(why.find("may be UTF-8 that was read") != std::string::npos);
    CHECK(why.find("Fix: ") != std::string::npos);
  }
}

TEST_CASE("Damaged text is refused") {
  CHECK(refusal("a\xff").find("not valid UTF-8") != std::string::npos);
  CHECK(refusal("a\xed\xa0\x80").find("not valid UTF-8") != std::string::npos);
  CHECK(refusal("lost \ufffd").find("U+FFFD") != std::string::npos);
  CHECK(refusal("&#0;").find("U+FFFD") != std::string::npos);
  CHECK(refusal("a\u0378").find("U+0378") != std::string::npos);
  CHECK(refusal(std::string(1'000'001, 'a')).find("million") != std::string::npos);
}

}  // namespace wam
