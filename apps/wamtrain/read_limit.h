#pragma once

#include <chrono>

#include "core/train/recipe.h"

namespace wam {

// How long a file may be read: shorter than the other ranks have patience, so that it is this error
// that they hear of. `run` may be one with faults.
inline std::chrono::milliseconds read_limit(const RunSection& run) {
  const double timeout_s = run.timeout_s > 0 ? run.timeout_s : RunSection().timeout_s;
  return std::chrono::milliseconds(static_cast<std::int64_t>(750 * timeout_s));
}

}  // namespace wam
