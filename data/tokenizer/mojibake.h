#pragma once

#include <string>
#include <string_view>

namespace wam {

// What the repair of wrongly decoded text makes of `text`, as far as that is certain.
struct EncodingRepair {
  enum class Kind {
    kClean,      // nothing to repair: text is unchanged
    kRepaired,   // `text` holds the repaired text, which may need another round
    kUncertain,  // it looks like UTF-8 read through another code page; `why` says which part
  };
  Kind kind = Kind::kClean;
  std::u32string text;
  std::string why;
};

// One round of the encoding repair of ftfy 6.3.1 (ftfy.fix_encoding), restricted to what can be
// decided without its statistics:
//   - text that as a whole is UTF-8 read as Latin-1 or Windows-1252, with a pair of characters that
//     does not occur in honest text, is decoded again;
//   - C1 controls become the Windows-1252 characters of their bytes;
//   - text in which no part could be misread UTF-8, or which consists of words of Latin, Greek or
//     Cyrillic letters and single symbols, is left alone, as ftfy does.
// Everything else is uncertain, and the caller refuses it.
EncodingRepair repair_encoding(std::u32string_view text);

}  // namespace wam
