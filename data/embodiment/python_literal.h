#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wam {

// The value of a text that is a Python literal, as far as annotations need it.
struct PythonValue {
  enum class Kind { kText, kBytes, kNumber, kComplex, kName, kSequence, kOther };
  Kind kind = Kind::kText;
  std::string text;                // str(value)
  std::string repr;                // repr(value), as it shows inside lists
  std::vector<PythonValue> items;  // of a list or tuple
};

// Nothing when the text is no literal (ast.literal_eval raises).
//
// Source: Python 3.11, language reference 2.4 (literals) and ast.literal_eval.
// Errors: DataError for a literal whose value is not worked out here: \N{...} escapes, sets of
//         several elements, integers above 64 bits in another base than ten.
std::optional<PythonValue> parse_python_literal(std::string_view source);

}  // namespace wam
