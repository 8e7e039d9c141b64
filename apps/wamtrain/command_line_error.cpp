#include "apps/wamtrain/command_line_error.h"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "core/base/names.h"

namespace wam {
namespace {

std::vector<std::string> names_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const auto* option : app.get_options()) {
    for (const auto& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

}  // namespace

std::string explain(const CLI::App& app,
                    const CLI::ParseError& error,
                    const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  for (const auto& word : words) {
    const bool is_flag = word.starts_with("-");
    const auto known = is_flag ? flags_of(*command) : names_of(*command);
    if (!is_flag && known.empty()) continue;
    const auto name = word.substr(0, word.find('='));
    if (std::find(known.begin(), known.end(), name) != known.end()) {
      if (!is_flag) command = command->get_subcommand(name);
      continue;
    }
    const auto near = nearest_name(name, known);
    return fmt::format("unknown {} {}, expected one of {}. Fix: {}.", is_flag ? "flag" : "command",
                       name, join(known), near ? "write " + *near : std::string("see --help"));
  }
  return fmt::format("{}. Fix: see wamtrain {} --help.", error.what(),
                     command == &app ? "" : command->get_name());
}

}  // namespace wam
