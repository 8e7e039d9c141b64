#include "data/embodiment/prompt.h"

#include <cstdint>
#include <vector>

#include <utf8proc.h>

#include "core/base/errors.h"
#include "data/embodiment/python_literal.h"

namespace wam {
namespace {

using Codes = std::vector<utf8proc_int32_t>;
constexpr utf8proc_int32_t kCapitalSigma = 0x3A3;
constexpr utf8proc_int32_t kFinalSigma = 0x3C2;
constexpr utf8proc_int32_t kDottedCapitalI = 0x130;
constexpr utf8proc_int32_t kDotAbove = 0x307;

Codes decode(std::string_view text) {
  Codes out;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  for (std::size_t at = 0; at < text.size();) {
    utf8proc_int32_t code = 0;
    const auto used =
        utf8proc_iterate(bytes + at, static_cast<utf8proc_ssize_t>(text.size() - at), &code);
    require<DataError>(used > 0,
                       "reading the instruction '{}': byte {} is not UTF-8. Fix: store the task "
                       "texts in UTF-8",
                       text, at);
    out.push_back(code);
    at += static_cast<std::size_t>(used);
  }
  return out;
}

bool is_cased(utf8proc_int32_t code) {
  const auto category = utf8proc_category(code);
  return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL ||
         category == UTF8PROC_CATEGORY_LT;
}

bool is_case_ignorable(utf8proc_int32_t code) {
  const auto category = utf8proc_category(code);
  return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_ME ||
         category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_LM ||
         category == UTF8PROC_CATEGORY_SK || code == '\'' || code == '.' || code == ':' ||
         code == 0xB7 || code == 0x2019;
}

// Unicode's Final_Sigma: a cased letter before, none after, ignorable ones aside.
bool sigma_is_final(const Codes& codes, std::size_t at) {
  std::size_t before = at;
  while (before > 0 && is_case_ignorable(codes[before - 1])) --before;
  if (before == 0 || !is_cased(codes[before - 1])) return false;
  std::size_t after = at + 1;
  while (after < codes.size() && is_case_ignorable(codes[after])) ++after;
  return after >= codes.size() || !is_cased(codes[after]);
}

void append(std::string& out, utf8proc_int32_t code) {
  utf8proc_uint8_t bytes[4];
  const auto count = utf8proc_encode_char(code, bytes);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(count));
}

std::string lower_case(std::string_view text) {
  std::string out;
  const Codes codes = decode(text);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (codes[i] == kDottedCapitalI) {
      append(out, 'i');
      append(out, kDotAbove);
    } else if (codes[i] == kCapitalSigma && sigma_is_final(codes, i)) {
      append(out, kFinalSigma);
    } else {
      append(out, utf8proc_tolower(codes[i]));
    }
  }
  return out;
}

}  // namespace

std::string instruction_of(std::string_view annotation) {
  const auto value = parse_python_literal(annotation);
  if (!value) return lower_case(annotation);
  const bool sequence = value->kind == PythonValue::Kind::kSequence;
  require<DataError>(!sequence || !value->items.empty(),
                     "reading the instruction '{}': an empty list. Fix: give the task a text",
                     annotation);
  const PythonValue& chosen = sequence ? value->items.front() : *value;
  require<DataError>(
      chosen.kind != PythonValue::Kind::kComplex,
      "reading the instruction '{}': a complex number. Fix: write the instruction as "
      "plain text",
      annotation);
  return lower_case(chosen.text);
}

std::string fill_prompt(const Embodiment& embodiment, std::string_view annotation) {
  constexpr std::string_view kMark = "{instruction}";
  const std::string instruction = instruction_of(annotation);
  std::string out;
  std::size_t from = 0;
  for (auto at = embodiment.prompt.find(kMark); at != std::string::npos;
       at = embodiment.prompt.find(kMark, from)) {
    out += embodiment.prompt.substr(from, at - from) + instruction;
    from = at + kMark.size();
  }
  return out + embodiment.prompt.substr(from);
}

}  // namespace wam
