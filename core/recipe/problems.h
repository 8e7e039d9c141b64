#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/errors.h"

namespace wam {

// Where a value was written.
struct Origin {
  std::string file;  // a path as the user gave it, or "--set path.to.key=value"
  int line = 0;      // from 1; 0: the whole of `file`

  // "recipe.yaml:12" or "--set train.steps=x".
  [[nodiscard]] std::string text() const;
};

// Collects everything that is wrong with a recipe, so that it is reported at once, each problem
// with the place where its key was written.
class Problems {
 public:
  // `recipe` stands for keys that were not written anywhere.
  explicit Problems(std::string recipe) : recipe_(std::move(recipe)) {}

  // Remembers where a key was written; the last one counts.
  void written(const std::string& key_path, const Origin& origin) { origins_[key_path] = origin; }
  [[nodiscard]] bool was_written(const std::string& key_path) const {
    return origins_.contains(key_path);
  }

  // "recipe.yaml:12: train.steps: <text>"; the text says what was found, what was expected, and
  // ends in "Fix: …".
  void add(const std::string& key_path, std::string_view text);
  // A problem of a file as a whole.
  void add(const Origin& origin, std::string_view text);

  [[nodiscard]] bool empty() const noexcept { return texts_.empty(); }
  [[nodiscard]] const std::vector<std::string>& texts() const noexcept { return texts_; }
  // Throws a ConfigError that lists all of them; returns when there are none.
  void throw_if_any() const;

 private:
  // Of the key itself or, where it was left out, of the nearest section around it.
  [[nodiscard]] Origin origin_of(std::string key_path) const;

  std::string recipe_;
  std::map<std::string, Origin> origins_;
  std::vector<std::string> texts_;
};

}  // namespace wam
