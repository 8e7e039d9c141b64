#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "core/recipe/field.h"

namespace wam {

namespace recipe {

// A scalar as YAML reads it back: plain where that is safe, else in double quotes.
std::string yaml_text(std::string_view text);
// The shortest digits that read back to the same number.
std::string yaml_number(double value);

template <class T>
std::string yaml_value(const T& value) {
  if constexpr (IsOptional<T>::value) {
    return value ? yaml_value(*value) : "auto";
  } else if constexpr (IsVector<T>::value || IsArray<T>::value) {
    std::string out;
    for (const auto& item : value) out += (out.empty() ? "" : ", ") + yaml_value(item);
    return "[" + out + "]";
  } else if constexpr (std::same_as<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::same_as<T, double>) {
    return yaml_number(value);
  } else if constexpr (std::integral<T>) {
    return std::to_string(value);
  } else if constexpr (std::same_as<T, std::filesystem::path>) {
    return yaml_text(value.string());
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(name_of(value));
  } else {
    return yaml_text(value);
  }
}

template <class T>
struct IsSectionList : std::false_type {};
template <Section T>
struct IsSectionList<std::vector<T>> : std::true_type {};

}  // namespace recipe

// Writes sections as YAML that loads back to the same values. Walks fields(); use dump_recipe.
class RecipeWriter {
 public:
  RecipeWriter(std::string& out, std::size_t indent) : out_(out), indent_(indent) {}

  template <class T, class... C>
  void operator()(const char* name, T& member, const char* /*help*/, const C&...) {
    out_.append(first_ ? 0 : indent_, ' ');
    first_ = false;
    out_ += name;
    if constexpr (recipe::Section<T>) {
      out_ += ":\n";
      out_.append(indent_ + 2, ' ');
      member.fields(RecipeWriter(out_, indent_ + 2));
    } else if constexpr (recipe::IsSectionList<T>::value) {
      write_list(member);
    } else {
      out_ += ": " + recipe::yaml_value(member) + "\n";
    }
  }

 private:
  template <class T>
  void write_list(T& items) {
    out_ += items.empty() ? ": []\n" : ":\n";
    for (auto& item : items) {
      out_.append(indent_ + 2, ' ');
      out_ += "- ";
      item.fields(RecipeWriter(out_, indent_ + 4));
    }
  }

  std::string& out_;
  std::size_t indent_;
  bool first_ = true;  // the caller has indented the first line
};

// The canonical text of a recipe: every key, in the order of fields(). Equal recipes give equal
// text, so its hash names the recipe.
template <class R>
std::string dump_recipe(R recipe) {
  std::string out;
  recipe.fields(RecipeWriter(out, 0));
  return out;
}

}  // namespace wam
