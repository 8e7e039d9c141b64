#pragma once

#include <string>
#include <string_view>

namespace wam {

// Character references decoded as HTML5 does it: numeric ones with its corrections, named ones with
// or without the semicolon, the longest known name first; unknown ones stay.
// Source: Python 3.11 html.unescape; WHATWG HTML, "Named character references".
std::u32string unescape_html(std::u32string_view text);

// The cautious variant: only whole references that end in a semicolon; also the names of lower-case
// letters written in capitals ("&NTILDE;").
// Source: ftfy 6.3.1, ftfy.fixes.unescape_html.
std::u32string unescape_closed_html(std::u32string_view text);

}  // namespace wam
