#include "data/lerobot/path_template.h"

#include <algorithm>
#include <cctype>

#include "core/base/errors.h"
#include "core/base/names.h"

namespace wam {
namespace {

// "03d" -> 3, "d" or "" -> 0; -1 for anything else.
int parse_digits(std::string_view format) {
  if (format.empty()) return 0;
  if (format.back() != 'd') return -1;
  format.remove_suffix(1);
  if (format.empty()) return 0;
  if (format.size() > 2 || format.front() != '0') return -1;
  int digits = 0;
  for (const char c : format) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) return -1;
    digits = digits * 10 + (c - '0');
  }
  return digits;
}

}  // namespace

PathTemplate::PathTemplate(std::string_view text,
                           const std::vector<std::string>& allowed,
                           const std::string& where) {
  const std::string_view whole = text;
  while (!text.empty()) {
    const std::size_t open = text.find('{');
    if (open != 0) pieces_.push_back({std::string(text.substr(0, open)), false, 0});
    if (open == std::string_view::npos) break;
    const std::size_t close = text.find('}', open);
    require<DataError>(close != std::string_view::npos,
                       "{}: the template '{}' has a '{{' without '}}'. Fix: mend info.json.", where,
                       whole);
    const std::string_view field = text.substr(open + 1, close - open - 1);
    const std::size_t colon = field.find(':');
    const std::string name(field.substr(0, colon));
    const std::string_view format =
        colon == std::string_view::npos ? std::string_view() : field.substr(colon + 1);
    const int digits = parse_digits(format);
    require<DataError>(std::find(allowed.begin(), allowed.end(), name) != allowed.end(),
                       "{}: the template '{}' has the field '{}', expected one of {}. Fix: mend "
                       "info.json, or convert the dataset to another layout.",
                       where, whole, name, join(allowed));
    require<DataError>(digits >= 0,
                       "{}: the template '{}' has the format '{}', expected one like '06d'. Fix: "
                       "mend info.json.",
                       where, whole, format);
    pieces_.push_back({name, true, digits});
    text.remove_prefix(close + 1);
  }
}

std::string PathTemplate::fill(const std::map<std::string, std::int64_t>& numbers,
                               const std::map<std::string, std::string>& texts) const {
  std::string out;
  for (const Piece& piece : pieces_) {
    if (!piece.is_field) {
      out += piece.text;
    } else if (const auto number = numbers.find(piece.text); number != numbers.end()) {
      out += fmt::format("{:0{}d}", number->second, piece.digits);
    } else {
      const auto text = texts.find(piece.text);
      invariant(text != texts.end(), "a path template's field has no value");
      out += text->second;
    }
  }
  return out;
}

}  // namespace wam
