#pragma once

#include <cstdint>
#include <string>

#include "core/base/log.h"
#include "data/normalise/compute.h"

namespace wam {

// How the statistics of an embodiment are computed, and what is said meanwhile (progress_bar.h).
// `log` must live as long.
ComputeOptions compute_options(const std::string& tag,
                               std::int64_t threads,
                               NotFinite not_finite,
                               Log& log);

}  // namespace wam
