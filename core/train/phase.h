#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "core/base/names.h"

namespace wam {

// What a run is doing, as messages say it.
enum class Phase {
  kStarting,
  kDataWait,
  kForwardBackward,
  kUpdate,
  kValidation,
  kCheckpoint,
  kLeaving
};
template <>
struct EnumNames<Phase> {
  static constexpr std::array table{
      std::pair{Phase::kStarting, std::string_view("starting")},
      std::pair{Phase::kDataWait, std::string_view("waiting for data")},
      std::pair{Phase::kForwardBackward, std::string_view("forward and backward")},
      std::pair{Phase::kUpdate, std::string_view("update")},
      std::pair{Phase::kValidation, std::string_view("validation")},
      std::pair{Phase::kCheckpoint, std::string_view("checkpoint")},
      std::pair{Phase::kLeaving, std::string_view("leaving")}};
};

// Is told where the run stands; must be cheap.
class PhaseObserver {
 public:
  PhaseObserver() = default;
  PhaseObserver(const PhaseObserver&) = delete;
  PhaseObserver& operator=(const PhaseObserver&) = delete;
  PhaseObserver(PhaseObserver&&) = delete;
  PhaseObserver& operator=(PhaseObserver&&) = delete;
  virtual ~PhaseObserver() = default;

  // `step` counts from 1; `micro_step` from 1 within it, 0 outside of micro-steps.
  virtual void enter(Phase phase, std::int64_t step, std::int64_t micro_step) noexcept = 0;
  // The work of a long phase goes on: the next window, the next piece of a file. Any thread.
  virtual void moved() noexcept = 0;
};

}  // namespace wam
