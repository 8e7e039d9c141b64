#include "core/recipe/help.h"

#include <fmt/core.h>

#include "core/base/format.h"

namespace wam::recipe {
namespace {

constexpr std::size_t kColumns = 80;

std::string wrap(std::string_view text, std::size_t indent) {
  return wrapped(text, kColumns, indent);
}

}  // namespace

std::string help_entry(std::size_t indent,
                       std::string_view name,
                       std::string_view type,
                       std::string_view default_value,
                       std::string_view range,
                       std::string_view planned,
                       std::string_view help) {
  std::string kind(type);
  if (!range.empty()) kind += fmt::format(", {}", range);
  const bool unset = default_value.empty() || default_value == "\"\"";
  kind += unset ? " (default: empty)" : fmt::format(" (default: {})", default_value);
  std::string text(help);
  if (!planned.empty()) text += fmt::format(" Planned: {}.", planned);
  return wrap(fmt::format("{}: {}", name, kind), indent) + wrap(text, indent + 6);
}

std::string help_heading(std::size_t indent, std::string_view name, std::string_view help) {
  return (indent == 0 ? "\n" : "") + wrap(fmt::format("{}: {}", name, help), indent);
}

}  // namespace wam::recipe
