#include "core/recipe/field.h"

#include <cmath>

#include <fmt/core.h>

namespace wam {

std::string Range::text() const {
  std::string out;
  if (std::isfinite(min)) out = fmt::format("{} {}", min_excluded ? "above" : "at least", min);
  if (std::isfinite(min) && std::isfinite(max)) out += " and ";
  if (std::isfinite(max)) out += fmt::format("{} {}", max_excluded ? "below" : "at most", max);
  return out;
}

}  // namespace wam
