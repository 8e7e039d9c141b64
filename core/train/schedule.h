#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "core/base/names.h"

namespace wam {

enum class ScheduleKind { kCosine, kConstant };

template <>
struct EnumNames<ScheduleKind> {
  static constexpr std::array table{std::pair{ScheduleKind::kCosine, "cosine"},
                                    std::pair{ScheduleKind::kConstant, "constant"}};
};

// The learning rate as a function of the global step alone, so that nothing has to be saved.
struct Schedule {
  ScheduleKind kind = ScheduleKind::kCosine;
  double peak = 1e-5;
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 1;

  // Step k counts from 0. Linear from 0 during warm-up (the first step's rate is 0 when there is
  // one); then constant, or half a cosine down to 0 at total_steps.
  // Source: get_cosine_schedule_with_warmup of transformers 4.51, as DreamZero uses it.
  [[nodiscard]] double rate(std::int64_t step) const;
};

}  // namespace wam
