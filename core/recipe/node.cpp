#include "core/recipe/node.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>

#include <yaml-cpp/yaml.h>

namespace wam {
namespace {

// An alias may name a node around itself; no honest recipe is this deep.
constexpr int kMaxDepth = 32;

// Turns yaml-cpp's tree into ours.
class Converter {
 public:
  // `has_lines`: false for --set, where lines mean nothing.
  Converter(std::string file, Problems& problems, bool has_lines)
      : file_(std::move(file)), problems_(problems), has_lines_(has_lines) {}

  Node convert(const YAML::Node& in, const std::string& path, int depth = 0) {
    Node out;
    out.origin = origin_of(in);
    if (depth > kMaxDepth) {
      problems_.add(out.origin, fmt::format("{}: nested more than {} levels deep. "
                                            "Fix: remove the alias that contains itself.",
                                            path, kMaxDepth));
      return out;
    }
    if (in.IsScalar()) {
      out.kind = Node::Kind::kScalar;
      out.scalar = with_folder(in.Scalar());
      out.quoted = in.Tag() == "!";
    } else if (in.IsSequence()) {
      out.kind = Node::Kind::kList;
      for (const auto& item : in) out.items.push_back(convert(item, path, depth + 1));
    } else if (in.IsMap()) {
      out.kind = Node::Kind::kMap;
      for (const auto& entry : in) add_entry(out, entry.first, entry.second, path, depth);
    }
    return out;
  }

 private:
  // ${HERE} is the folder of the file that says it, so that a recipe finds its neighbours.
  std::string with_folder(std::string text) const {
    const std::string here = "${HERE}";
    const auto parent = std::filesystem::path(file_).parent_path().string();
    if (!has_lines_) return text;
    for (auto at = text.find(here); at != std::string::npos; at = text.find(here)) {
      text.replace(at, here.size(), parent.empty() ? "." : parent);
    }
    return text;
  }

  Origin origin_of(const YAML::Node& node) const {
    return {file_, has_lines_ ? node.Mark().line + 1 : 0};
  }

  void add_entry(Node& map,
                 const YAML::Node& key,
                 const YAML::Node& value,
                 const std::string& path,
                 int depth) {
    const auto name = key.IsScalar() ? key.Scalar() : std::string("?");
    const auto full = path.empty() ? name : path + "." + name;
    const auto origin = origin_of(key);
    if (const Node* first = map.find(name)) {
      problems_.add(origin,
                    fmt::format("{}: given twice, first at line {}. Fix: remove one of them.", full,
                                first->origin.line));
      return;
    }
    Node child = convert(value, full, depth + 1);
    child.origin = origin;  // the key's line, where a reader looks first
    map.entries.emplace_back(name, std::move(child));
  }

  std::string file_;
  Problems& problems_;
  bool has_lines_;
};

void merge(Node& base, const Node& over) {
  if (base.kind != Node::Kind::kMap || over.kind != Node::Kind::kMap) {
    base = over;
    return;
  }
  for (const auto& [name, value] : over.entries) {
    if (Node* mine = base.find(name)) {
      merge(*mine, value);
      mine->origin = value.origin;
    } else {
      base.entries.emplace_back(name, value);
    }
  }
}

std::optional<YAML::Node> parse_file(const std::filesystem::path& file,
                                     const Origin& asked_by,
                                     Problems& problems) {
  try {
    return YAML::LoadFile(file.string());
  } catch (const YAML::BadFile&) {
    problems.add(asked_by,
                 fmt::format("cannot read the recipe {}. Fix: check the path.", file.string()));
  } catch (const YAML::ParserException& error) {
    problems.add(Origin{file.string(), error.mark.line + 1},
                 fmt::format("not valid YAML: {} (column {}). Fix: mend the syntax there.",
                             error.msg, error.mark.column + 1));
  }
  return std::nullopt;
}

// The files named by `include`, which is taken out of the map.
std::vector<Node> take_includes(Node& root, Problems& problems) {
  const Node* include = root.find("include");
  if (include == nullptr) return {};
  std::vector<Node> files;
  if (include->kind == Node::Kind::kScalar) files = {*include};
  if (include->kind == Node::Kind::kList) files = include->items;
  const bool good = !files.empty() && std::all_of(files.begin(), files.end(), [](const Node& f) {
    return f.kind == Node::Kind::kScalar;
  });
  if (!good) {
    problems.add(include->origin,
                 fmt::format("include: found {}, expected a file or a list of files. "
                             "Fix: write include: other.yaml",
                             include->description()));
    files.clear();
  }
  std::erase_if(root.entries, [](const auto& entry) { return entry.first == "include"; });
  return files;
}

Node read_tree(const std::filesystem::path& file,
               const Origin& asked_by,
               std::vector<std::filesystem::path>& open_files,
               Problems& problems) {
  const auto identity = std::filesystem::weakly_canonical(file);
  if (std::find(open_files.begin(), open_files.end(), identity) != open_files.end()) {
    problems.add(asked_by, fmt::format("include: {} includes itself, directly or through others. "
                                       "Fix: remove one of the includes.",
                                       file.string()));
    return {};
  }
  const auto parsed = parse_file(file, asked_by, problems);
  if (!parsed) return {};
  Node own = Converter(file.string(), problems, true).convert(*parsed, "");
  if (own.kind == Node::Kind::kNull) own.kind = Node::Kind::kMap;  // an empty file
  if (own.kind != Node::Kind::kMap) {
    problems.add(Origin{file.string(), 0},
                 fmt::format("found {}, expected sections such as train: and data:. "
                             "Fix: see wamtrain train --help-recipe.",
                             own.description()));
    return {};
  }
  open_files.push_back(identity);
  Node merged;
  merged.kind = Node::Kind::kMap;
  for (const Node& include : take_includes(own, problems)) {
    problems.written("include", include.origin);
    std::filesystem::path other = expand_environment(include.scalar, "include", problems);
    if (other.is_relative()) other = file.parent_path() / other;
    merge(merged, read_tree(other, include.origin, open_files, problems));
  }
  open_files.pop_back();
  merge(merged, own);
  return merged;
}

// The child of `node` that one piece of a path names; made when a map has none.
Node* step_into(Node& node, const std::string& piece) {
  if (node.kind == Node::Kind::kList) {
    std::size_t index = 0;
    const auto [end, code] = std::from_chars(piece.data(), piece.data() + piece.size(), index);
    const bool is_index = code == std::errc() && end == piece.data() + piece.size();
    return is_index && index < node.items.size() ? &node.items[index] : nullptr;
  }
  if (node.kind == Node::Kind::kNull) node.kind = Node::Kind::kMap;
  if (node.kind != Node::Kind::kMap) return nullptr;
  if (Node* child = node.find(piece)) return child;
  node.entries.emplace_back(piece, Node{});
  return &node.entries.back().second;
}

}  // namespace

const Node* Node::find(std::string_view key) const {
  for (const auto& [name, value] : entries) {
    if (name == key) return &value;
  }
  return nullptr;
}

Node* Node::find(std::string_view key) {
  return const_cast<Node*>(std::as_const(*this).find(key));
}

std::string Node::description() const {
  switch (kind) {
    case Kind::kNull:
      return "nothing";
    case Kind::kList:
      return fmt::format("a list of {}", items.size());
    case Kind::kMap:
      return "a section with keys of its own";
    case Kind::kScalar:
      return quoted ? fmt::format("the text \"{}\" in quotes", scalar) : fmt::format("{}", scalar);
  }
  return "?";
}

Node read_recipe_tree(const std::filesystem::path& file, Problems& problems) {
  std::vector<std::filesystem::path> open_files;
  return read_tree(file, Origin{file.string(), 0}, open_files, problems);
}

void apply_override(Node& root, const std::string& assignment, Problems& problems) {
  const Origin origin{"--set " + assignment, 0};
  const auto equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    problems.add(origin, "expected path.to.key=value. Fix: write, say, --set train.steps=100");
    return;
  }
  Node value;
  try {
    const auto parsed = YAML::Load(assignment.substr(equals + 1));
    value = Converter(origin.file, problems, false).convert(parsed, assignment.substr(0, equals));
  } catch (const YAML::ParserException& error) {
    problems.add(origin,
                 fmt::format("the value is not valid YAML: {}. Fix: quote it for the shell, "
                             "as in --set 'train.betas=[0.9, 0.95]'",
                             error.msg));
    return;
  }
  Node* node = &root;
  const std::string path = assignment.substr(0, equals);
  for (std::size_t begin = 0; begin <= path.size();) {
    const auto end = std::min(path.find('.', begin), path.size());
    node = step_into(*node, path.substr(begin, end - begin));
    if (node == nullptr) {
      problems.add(origin, fmt::format("{} has no part of that name. Fix: see wamtrain train "
                                       "--help-recipe.",
                                       path.substr(0, end)));
      return;
    }
    if (node->origin.file.empty()) node->origin = origin;
    begin = end + 1;
  }
  *node = std::move(value);
  node->origin = origin;
}

std::string expand_environment(const std::string& text,
                               const std::string& key_path,
                               Problems& problems) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto begin = text.find("${", at);
    const auto end = begin == std::string::npos ? begin : text.find('}', begin);
    if (end == std::string::npos) return out + text.substr(at);
    out += text.substr(at, begin - at);
    const std::string inner = text.substr(begin + 2, end - begin - 2);
    const auto dash = inner.find(":-");
    const std::string name = inner.substr(0, dash);
    const char* value = std::getenv(name.c_str());
    if (value != nullptr && *value != '\0') {
      out += value;
    } else if (dash != std::string::npos) {
      out += inner.substr(dash + 2);
    } else {
      problems.add(key_path,
                   fmt::format("the environment variable {0} is not set. Fix: export {0}=…, "
                               "or write ${{{0}:-default}}",
                               name));
    }
    at = end + 1;
  }
  return out;
}

}  // namespace wam
