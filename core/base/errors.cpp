#include "core/base/errors.h"

namespace wam {

ConfigError ConfigError::of(const std::vector<std::string>& problems) {
  std::string text;
  if (problems.size() > 1) text = fmt::format("{} problems:\n", problems.size());
  for (const auto& p : problems) {
    if (&p != &problems.front()) text += "\n";
    text += p;
  }
  return ConfigError(text);
}

InvariantError::InvariantError(const std::string& what, std::source_location where)
    : Error(fmt::format("{} ({}:{})", what, where.file_name(), where.line())) {}

void invariant(bool ok, const char* what, std::source_location where) {
  if (!ok) throw InvariantError(what, where);
}

}  // namespace wam
