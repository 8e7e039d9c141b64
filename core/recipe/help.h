#pragma once

#include <string>
#include <string_view>

#include "core/recipe/field.h"
#include "core/recipe/writer.h"

namespace wam {

namespace recipe {

// One key: name, type, default and the wrapped explanation, within 80 columns.
std::string help_entry(std::size_t indent,
                       std::string_view name,
                       std::string_view type,
                       std::string_view default_value,
                       std::string_view range,
                       std::string_view planned,
                       std::string_view help);
// The heading of a section.
std::string help_heading(std::size_t indent, std::string_view name, std::string_view help);

template <class T>
std::string planned_names() {
  if constexpr (IsOptional<T>::value) {
    return planned_names<typename T::value_type>();
  } else if constexpr (std::is_enum_v<T>) {
    const auto& names = PlannedNames<T>::table;
    return join({names.begin(), names.end()});
  } else {
    return {};
  }
}

}  // namespace recipe

// Documents every key of a section. Walks fields(); use help_recipe.
class RecipeHelp {
 public:
  RecipeHelp(std::string& out, std::size_t indent) : out_(out), indent_(indent) {}

  template <class T, class... C>
  void operator()(const char* name, T& member, const char* help, const C&... constraints) {
    if constexpr (recipe::Section<T>) {
      out_ += recipe::help_heading(indent_, name, help);
      member.fields(RecipeHelp(out_, indent_ + 2));
    } else if constexpr (recipe::IsSectionList<T>::value) {
      out_ += recipe::help_heading(indent_, name, std::string(help) + " A list; each item has:");
      typename T::value_type item;
      item.fields(RecipeHelp(out_, indent_ + 2));
    } else {
      std::string range;
      ((range += constraints.text()), ...);
      out_ += recipe::help_entry(indent_, name, recipe::type_text<T>(), recipe::yaml_value(member),
                                 range, recipe::planned_names<T>(), help);
    }
  }

 private:
  std::string& out_;
  std::size_t indent_;
};

template <class R>
std::string help_recipe() {
  std::string out;
  R defaults;
  defaults.fields(RecipeHelp(out, 0));
  return out;
}

}  // namespace wam
