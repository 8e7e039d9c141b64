#pragma once

#include <string>
#include <vector>

namespace wam {

// Who says what, for messages: {"checkpoint", "run"}.
struct TwoSides {
  std::string saved;
  std::string wanted;
};

// One line per value that differs between two JSON texts, "what.key: checkpoint a, run b"; none
// when they say the same. Errors: InvariantError when one of them is neither object nor array.
std::vector<std::string> json_differences(const std::string& what,
                                          const std::string& saved,
                                          const std::string& wanted,
                                          const TwoSides& sides);

}  // namespace wam
