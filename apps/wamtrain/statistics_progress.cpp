#include "apps/wamtrain/statistics_progress.h"

#include <memory>

#include <fmt/core.h>

#include "apps/wamtrain/progress_bar.h"

namespace wam {

ComputeOptions compute_options(const std::string& tag,
                               std::int64_t threads,
                               NotFinite not_finite,
                               Log& log) {
  const auto bar = std::make_shared<ProgressBar>(
      log, fmt::format("statistics of {}: reading every episode twice", tag), "readings");
  return {static_cast<unsigned>(threads), not_finite,
          [bar](std::int64_t done, std::int64_t total) { bar->show(done, total); }};
}

}  // namespace wam
