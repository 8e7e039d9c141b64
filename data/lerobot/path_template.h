#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace wam {

// A path template of info.json: a Python format string with fields such as {episode_chunk:03d},
// {episode_index:06d} (integers, zero-padded or plain) and {video_key} (text).
class PathTemplate {
 public:
  // `allowed`: the fields that the layout fills.
  // Errors: DataError starting with `where` for a broken template or an unknown field.
  PathTemplate(std::string_view text,
               const std::vector<std::string>& allowed,
               const std::string& where);

  // Errors: InvariantError when a field has no value.
  [[nodiscard]] std::string fill(const std::map<std::string, std::int64_t>& numbers,
                                 const std::map<std::string, std::string>& texts = {}) const;

 private:
  struct Piece {
    std::string text;  // literal text, or the field's name
    bool is_field = false;
    int digits = 0;  // zero-padded width of a number
  };
  std::vector<Piece> pieces_;
};

}  // namespace wam
