#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace wam {

// What is wrong with a command line that CLI11 refused, for the user:
// The first word that neither the program nor its subcommand knows, with the nearest that it does.
std::string explain(const CLI::App& app,
                    const CLI::ParseError& error,
                    const std::vector<std::string>& words);

}  // namespace wam
