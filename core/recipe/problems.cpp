#include "core/recipe/problems.h"

#include <algorithm>

namespace wam {

std::string Origin::text() const {
  return line > 0 ? fmt::format("{}:{}", file, line) : file;
}

void Problems::add(const std::string& key_path, std::string_view text) {
  add(origin_of(key_path), fmt::format("{}: {}", key_path, text));
}

void Problems::add(const Origin& origin, std::string_view text) {
  auto line = fmt::format("{}: {}", origin.text(), text);
  if (std::find(texts_.begin(), texts_.end(), line) == texts_.end()) {
    texts_.push_back(std::move(line));
  }
}

void Problems::throw_if_any() const {
  if (!texts_.empty()) throw ConfigError::of(texts_);
}

Origin Problems::origin_of(std::string key_path) const {
  while (!key_path.empty()) {
    if (const auto found = origins_.find(key_path); found != origins_.end()) return found->second;
    const auto dot = key_path.rfind('.');
    key_path.resize(dot == std::string::npos ? 0 : dot);
  }
  return {recipe_, 0};
}

}  // namespace wam
