#include "core/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace wam {

double Schedule::rate(std::int64_t step) const {
  if (step < warmup_steps) {
    return peak * static_cast<double>(step) /
           static_cast<double>(std::max<std::int64_t>(1, warmup_steps));
  }
  if (kind == ScheduleKind::kConstant) return peak;
  const auto done = static_cast<double>(step - warmup_steps);
  const auto all = static_cast<double>(std::max<std::int64_t>(1, total_steps - warmup_steps));
  return peak * std::max(0.0, 0.5 * (1.0 + std::cos(std::numbers::pi * done / all)));
}

}  // namespace wam
