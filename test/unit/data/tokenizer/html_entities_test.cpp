#include "data/tokenizer/html_entities.h"

#include "data/tokenizer/unicode.h"
#include "test/support/catch.h"

namespace wam {
namespace {

std::string open_form(const std::string& text) {
  return unicode::encode(unescape_html(unicode::decode(text).value()));
}

std::string closed_form(const std::string& text) {
  return unicode::encode(unescape_closed_html(unicode::decode(text).value()));
}

}  // namespace

TEST_CASE("The longest known name counts, with or without a semicolon") {
  CHECK(open_form("&amp;amp;") == "&amp;");
  CHECK(open_form("&notit;") == "¬it;");
  CHECK(open_form("&notin;") == "∉");
  CHECK(open_form("&copyright") == "©right");
  CHECK(open_form("&unknown; & &; &#; &#x;") == "&unknown; & &; &#; &#x;");
  CHECK(open_form("&CounterClockwiseContourIntegral;") == "∳");
  CHECK(open_form("&NotEqualTilde;") == "\u2242\u0338");
}

TEST_CASE("Numbers are corrected as HTML5 corrects them") {
  CHECK(open_form("&#65;&#x42;&#X43") == "ABC");
  CHECK(open_form("&#128;&#x92;") == "€’");
  CHECK(open_form("&#0;&#xD800;&#1114112;&#99999999999;") == "\ufffd\ufffd\ufffd\ufffd");
  CHECK(open_form("a&#1;&#xb;&#xfffe;&#x1fffe;b") == "ab");
  CHECK(open_form("&#13;&#10;&#59;") == "\r\n;");
}

TEST_CASE("The cautious form wants a semicolon and also knows shouted names") {
  CHECK(closed_form("&eacute; &EACUTE; &Eacute;") == "é É É");
  CHECK(closed_form("&copy &notit; &#65 &#6a;") == "&copy &notit; &#65 &#6a;");
  CHECK(closed_form("&#65;&#59;") == "A&#59;");
  CHECK(closed_form("&NTILDE;") == "Ñ");
  CHECK(open_form("&NTILDE;") == "&NTILDE;");
}

}  // namespace wam
