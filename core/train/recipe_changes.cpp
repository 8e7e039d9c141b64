#include "core/train/recipe_changes.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace wam {
namespace {

// A section, a list or an item of one whose lines are being read.
struct Open {
  std::size_t indent;
  std::string path;
  int num_items = 0;
};

// The values of a recipe by dotted key, in its order; list items go by number.
class Values {
 public:
  explicit Values(const std::string& text) {
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      add_line(std::string_view(text).substr(begin, end - begin));
      begin = end + 1;
    }
  }

  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& list() const {
    return list_;
  }
  [[nodiscard]] std::string at(const std::string& key) const {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? "none" : found->second;
  }
  [[nodiscard]] bool has(const std::string& key) const { return by_key_.contains(key); }

 private:
  void add_line(std::string_view line) {
    std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    std::string_view rest = line.substr(indent);
    if (rest.empty()) return;
    while (!open_.empty() && open_.back().indent >= indent) open_.pop_back();
    if (rest.starts_with("- ")) {
      const std::string item =
          open_.empty() ? "" : path_of(std::to_string(open_.back().num_items++));
      open_.push_back({indent, item});
      indent += 2;
      rest.remove_prefix(2);
    }
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const std::string path = path_of(std::string(rest.substr(0, colon)));
    const std::string_view value = rest.substr(std::min(colon + 2, rest.size()));
    if (value.empty()) {
      open_.push_back({indent, path});
    } else if (by_key_.emplace(path, value).second) {
      list_.emplace_back(path, value);
    }
  }

  [[nodiscard]] std::string path_of(const std::string& key) const {
    return open_.empty() ? key : open_.back().path + "." + key;
  }

  std::vector<Open> open_;
  std::vector<std::pair<std::string, std::string>> list_;
  std::map<std::string, std::string> by_key_;
};

}  // namespace

std::vector<std::string> recipe_changes(const std::string& before, const std::string& after) {
  const Values old_values(before);
  const Values new_values(after);
  std::vector<std::string> out;
  for (const auto& [key, value] : old_values.list()) {
    const std::string other = new_values.at(key);
    if (other != value) out.push_back(fmt::format("{}: {} -> {}", key, value, other));
  }
  for (const auto& [key, value] : new_values.list()) {
    if (!old_values.has(key)) out.push_back(fmt::format("{}: none -> {}", key, value));
  }
  return out;
}

}  // namespace wam
