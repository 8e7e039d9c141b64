#pragma once

#include <string>

namespace wam {

// A prompt as the text encoder of the reference gets it: text repaired (mojibake, C1 controls,
// ligatures, width, quotes, line breaks, terminal escapes, control characters, NFC), HTML
// references decoded, white space trimmed and collapsed to single blanks.
//
// Source: Wan2.1 wan/modules/tokenizers.py @ 9737cba, `whitespace_clean(basic_clean(text))` with
//         ftfy 6.3.1.
// Errors: DataError with the text and a fix for malformed UTF-8, U+FFFD, code points without a
//         meaning, text of more than a million characters, and mojibake that only ftfy's statistics
//         can judge (mojibake.h). Text is never altered otherwise than the reference alters it.
std::string clean_text(const std::string& text);

}  // namespace wam
