#include "core/recipe/reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace wam::recipe {
namespace {

// The whole text as a number, or nothing.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  T value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool looks_like_number(const Node& node) {
  return node.kind == Node::Kind::kScalar && parse_number<double>(node.scalar).has_value();
}

template <class T>
void read_whole(const Node& node, const std::string& path, T& out, Problems& problems) {
  const auto value = node.kind == Node::Kind::kScalar && !node.quoted ? parse_number<T>(node.scalar)
                                                                      : std::nullopt;
  if (value) {
    out = *value;
  } else {
    wrong_type(node, path,
               std::is_signed_v<T> ? "a whole number" : "a whole number that is not negative",
               problems);
  }
}

std::string leaf_of(const std::string& path) {
  return path.substr(path.rfind('.') + 1);
}

// Where a key that is unknown here may belong.
std::optional<std::string> nearest_key(const std::string& key,
                                       const std::string& path,
                                       const std::vector<std::string>& known,
                                       const std::vector<std::string>& all_keys) {
  const auto here = [&](const std::string& near) {
    return path.empty() ? near : path + "." + near;
  };
  if (const auto near = nearest_name(key, known)) return here(*near);
  for (const auto& longer : known) {
    if (longer.starts_with(key + "_")) return here(longer);
  }
  for (const auto& full : all_keys) {
    if (leaf_of(full) == key) return full;
  }
  return std::nullopt;
}

}  // namespace

bool is_auto(const Node& node) {
  return node.kind == Node::Kind::kScalar && !node.quoted && node.scalar == "auto";
}

void wrong_type(const Node& node,
                const std::string& path,
                const std::string& expected,
                Problems& problems) {
  std::string fix = "see wamtrain train --help-recipe";
  if (node.quoted && looks_like_number(node)) {
    fix = fmt::format("write {} without quotes", node.scalar);
  }
  problems.add(path,
               fmt::format("found {}, expected {}. Fix: {}.", node.description(), expected, fix));
}

void read_scalar(const Node& node, const std::string& path, bool& out, Problems& problems) {
  const bool plain = node.kind == Node::Kind::kScalar && !node.quoted;
  if (plain && (node.scalar == "true" || node.scalar == "false")) {
    out = node.scalar == "true";
  } else {
    wrong_type(node, path, "true or false", problems);
  }
}

void read_scalar(const Node& node, const std::string& path, double& out, Problems& problems) {
  const auto value = node.kind == Node::Kind::kScalar && !node.quoted
                         ? parse_number<double>(node.scalar)
                         : std::nullopt;
  if (value && std::isfinite(*value)) {
    out = *value;
  } else {
    wrong_type(node, path, "a number", problems);
  }
}

void read_scalar(const Node& node, const std::string& path, std::int64_t& out, Problems& problems) {
  read_whole(node, path, out, problems);
}

void read_scalar(const Node& node,
                 const std::string& path,
                 std::uint64_t& out,
                 Problems& problems) {
  read_whole(node, path, out, problems);
}

void read_scalar(const Node& node, const std::string& path, std::string& out, Problems& problems) {
  if (node.kind == Node::Kind::kScalar) {
    out = expand_environment(node.scalar, path, problems);
  } else {
    wrong_type(node, path, "text", problems);
  }
}

std::optional<std::size_t> read_name(const Node& node,
                                     const std::string& path,
                                     const std::vector<std::string>& names,
                                     const std::vector<std::string>& planned,
                                     Problems& problems) {
  if (node.kind != Node::Kind::kScalar) {
    wrong_type(node, path, "one of " + join(names), problems);
    return std::nullopt;
  }
  const auto found = std::find(names.begin(), names.end(), node.scalar);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  if (std::find(planned.begin(), planned.end(), node.scalar) != planned.end()) {
    problems.add(path, fmt::format("{} is planned but not built yet. Fix: use {}.", node.scalar,
                                   join(names, " or ")));
    return std::nullopt;
  }
  auto known = names;
  known.insert(known.end(), planned.begin(), planned.end());
  const auto near = nearest_name(node.scalar, names);
  problems.add(path, fmt::format("found {}, expected one of {}. Fix: use {}.", node.description(),
                                 join(names), near ? *near : std::string("one of them")));
  return std::nullopt;
}

void check_range(double value, const Range& range, const std::string& path, Problems& problems) {
  if (range.contains(value)) return;
  problems.add(path, fmt::format("found {}, expected {}. Fix: give a value in that range.", value,
                                 range.text()));
}

void refuse_unknown(const Node& map,
                    const std::string& path,
                    const std::vector<std::string>& known,
                    const std::vector<std::string>& all_keys,
                    Problems& problems) {
  for (const auto& [key, value] : map.entries) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const auto full = path.empty() ? key : path + "." + key;
    problems.written(full, value.origin);
    const auto near = nearest_key(key, path, known, all_keys);
    problems.add(
        full, near ? fmt::format("unknown key; the nearest one is {0}. Fix: write {0}.", *near)
                   : fmt::format("unknown key, expected one of {}. Fix: remove it.", join(known)));
  }
}

}  // namespace wam::recipe
