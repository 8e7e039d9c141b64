#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/recipe/problems.h"

namespace wam {

// A YAML value with the place where it was written. Our own small tree, so that yaml-cpp stays
// behind node.cpp.
struct Node {
  enum class Kind { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  Origin origin;
  std::string scalar;       // kScalar
  bool quoted = false;      // kScalar: written in quotes, so it is text and never a number
  std::vector<Node> items;  // kList
  std::vector<std::pair<std::string, Node>> entries;  // kMap, in the order of the file

  [[nodiscard]] const Node* find(std::string_view key) const;
  [[nodiscard]] Node* find(std::string_view key);
  // For messages: `the number-like text "32" in quotes`, "a list", …
  [[nodiscard]] std::string description() const;
};

// Reads a recipe with everything that it includes: `include: other.yaml` (or a list), relative to
// the including file. ${HERE} in a value is the folder of the file that says it. Maps merge key by
// key, the including file's keys win; lists are replaced. Problems (syntax, duplicate keys, cycles,
// a missing file) are added to `problems`.
Node read_recipe_tree(const std::filesystem::path& file, Problems& problems);

// Puts `path.to.key=value` into the tree; the value is read as flow YAML, a number in the path
// addresses an item of a list that is there.
void apply_override(Node& root, const std::string& assignment, Problems& problems);

// `text` with ${NAME} and ${NAME:-default} replaced by environment variables.
// An undefined one without a default is added to `problems` under `key_path`.
std::string expand_environment(const std::string& text,
                               const std::string& key_path,
                               Problems& problems);

}  // namespace wam
