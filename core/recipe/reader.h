#pragma once

#include <string>
#include <vector>

#include "core/recipe/field.h"
#include "core/recipe/node.h"

namespace wam {

namespace recipe {

// The scalar conversions. On failure a problem is added and the member keeps its default.
void read_scalar(const Node& node, const std::string& path, bool& out, Problems& problems);
void read_scalar(const Node& node, const std::string& path, double& out, Problems& problems);
void read_scalar(const Node& node, const std::string& path, std::int64_t& out, Problems& problems);
void read_scalar(const Node& node, const std::string& path, std::uint64_t& out, Problems& problems);
void read_scalar(const Node& node, const std::string& path, std::string& out, Problems& problems);
// The index of the name in `names`, or nothing and a problem.
std::optional<std::size_t> read_name(const Node& node,
                                     const std::string& path,
                                     const std::vector<std::string>& names,
                                     const std::vector<std::string>& planned,
                                     Problems& problems);
bool is_auto(const Node& node);
void wrong_type(const Node& node,
                const std::string& path,
                const std::string& expected,
                Problems& problems);
void check_range(double value, const Range& range, const std::string& path, Problems& problems);
// Adds a problem for every entry of `map` that is not a known key. `all_keys`: every full path of
// the recipe, for a key that stands in the wrong section.
void refuse_unknown(const Node& map,
                    const std::string& path,
                    const std::vector<std::string>& known,
                    const std::vector<std::string>& all_keys,
                    Problems& problems);

}  // namespace recipe

// Fills a section from a tree. Walks fields(); use read_section.
class RecipeReader {
 public:
  RecipeReader(const Node& map,
               std::string path,
               const std::vector<std::string>& all_keys,
               Problems& problems)
      : map_(map), path_(std::move(path)), all_keys_(all_keys), problems_(problems) {}

  template <class T, class... C>
  void operator()(const char* name, T& member, const char* /*help*/, const C&... constraints) {
    known_.emplace_back(name);
    const Node* node = map_.find(name);
    if (node == nullptr) return;
    const auto path = path_.empty() ? std::string(name) : path_ + "." + name;
    problems_.written(path, node->origin);
    if (read(*node, path, member)) (check(member, path, constraints), ...);
  }
  void finish() { recipe::refuse_unknown(map_, path_, known_, all_keys_, problems_); }

 private:
  // False: a problem was added (or the value is auto), so that constraints say nothing.
  template <class T>
  bool read(const Node& node, const std::string& path, T& out) {
    const auto before = problems_.texts().size();
    if constexpr (recipe::IsOptional<T>::value) {
      if (recipe::is_auto(node)) {
        out.reset();
        return false;
      }
      typename T::value_type value{};
      if (read(node, path, value)) out = value;
    } else if constexpr (recipe::Section<T>) {
      read_map(node, path, out);
    } else if constexpr (recipe::IsVector<T>::value || recipe::IsArray<T>::value) {
      read_list(node, path, out);
    } else if constexpr (std::is_enum_v<T>) {
      read_enum(node, path, out);
    } else if constexpr (std::same_as<T, std::filesystem::path>) {
      std::string text;
      recipe::read_scalar(node, path, text, problems_);
      out = text;
    } else if constexpr (recipe::Number<T> && !std::same_as<T, double>) {
      std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t> wide{};
      recipe::read_scalar(node, path, wide, problems_);
      if (!std::in_range<T>(wide)) recipe::wrong_type(node, path, "a smaller number", problems_);
      out = static_cast<T>(wide);
    } else {
      recipe::read_scalar(node, path, out, problems_);
    }
    return problems_.texts().size() == before;
  }

  template <class T>
  void read_map(const Node& node, const std::string& path, T& out) {
    if (node.kind == Node::Kind::kNull) return;  // an empty section: all defaults
    if (node.kind != Node::Kind::kMap) {
      recipe::wrong_type(node, path, recipe::type_text<T>(), problems_);
      return;
    }
    RecipeReader inner(node, path, all_keys_, problems_);
    out.fields(inner);
    inner.finish();
  }

  template <class T>
  void read_list(const Node& node, const std::string& path, T& out) {
    bool good = node.kind == Node::Kind::kList;
    if constexpr (recipe::IsArray<T>::value) good = good && node.items.size() == out.size();
    if (!good) {
      recipe::wrong_type(node, path, recipe::type_text<T>(), problems_);
      return;
    }
    if constexpr (recipe::IsVector<T>::value) out.assign(node.items.size(), {});
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      const auto item_path = path + "." + std::to_string(i);
      problems_.written(item_path, node.items[i].origin);
      read(node.items[i], item_path, out[i]);
    }
  }

  template <class E>
  void read_enum(const Node& node, const std::string& path, E& out) {
    const auto& planned = PlannedNames<E>::table;
    const auto index =
        recipe::read_name(node, path, all_names<E>(), {planned.begin(), planned.end()}, problems_);
    if (index) out = EnumNames<E>::table[*index].first;
  }

  template <class T>
  void check(const T& value, const std::string& path, const Range& range) {
    if constexpr (recipe::IsOptional<T>::value) {
      if (value) check(*value, path, range);
    } else if constexpr (recipe::IsVector<T>::value || recipe::IsArray<T>::value) {
      for (const auto& item : value) check(item, path, range);
    } else {
      static_assert(recipe::Number<T>, "a range bounds numbers");
      recipe::check_range(static_cast<double>(value), range, path, problems_);
    }
  }

  const Node& map_;
  std::string path_;
  const std::vector<std::string>& all_keys_;
  Problems& problems_;
  std::vector<std::string> known_;
};

// The full path of every key of a section ("train.steps"), items of lists without their number.
class KeyLister {
 public:
  KeyLister(std::string prefix, std::vector<std::string>& keys)
      : prefix_(std::move(prefix)), keys_(keys) {}
  template <class T, class... C>
  void operator()(const char* name, T& member, const char* /*help*/, const C&...) {
    const auto path = prefix_.empty() ? std::string(name) : prefix_ + "." + name;
    keys_.push_back(path);
    if constexpr (recipe::Section<T>) member.fields(KeyLister(path, keys_));
  }

 private:
  std::string prefix_;
  std::vector<std::string>& keys_;
};

// Fills `recipe` from a tree; everything that does not fit is added to `problems`.
template <class R>
void read_recipe(const Node& tree, R& recipe, Problems& problems) {
  std::vector<std::string> keys;
  recipe.fields(KeyLister("", keys));
  RecipeReader reader(tree, "", keys, problems);
  recipe.fields(reader);
  reader.finish();
}

// The file with its includes, then the overrides in order, into the defaults of R.
template <class R>
R load_recipe(const std::filesystem::path& file,
              const std::vector<std::string>& overrides,
              Problems& problems) {
  R recipe;
  Node tree = read_recipe_tree(file, problems);
  for (const auto& assignment : overrides) apply_override(tree, assignment, problems);
  read_recipe(tree, recipe, problems);
  return recipe;
}

}  // namespace wam
