#pragma once

#include <string>
#include <string_view>

#include "core/base/errors.h"
#include "core/base/names.h"

namespace wam {

// The word of a command-line option as its enumerator. Errors: ConfigError with the nearest one.
template <class E>
E option_word(std::string_view option, const std::string& word) {
  if (const auto value = parse_name<E>(word)) return *value;
  const auto names = all_names<E>();
  const auto near = nearest_name(word, names);
  throw ConfigError(fmt::format("{} {}: expected one of {}. Fix: write {}.", option, word,
                                join(names), near ? *near : names.front()));
}

}  // namespace wam
