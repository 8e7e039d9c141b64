#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "core/base/log.h"

namespace wam {

// How far something is that is done in steps: on a terminal a bar, elsewhere a line now and then;
// nothing for what is done within a second. "TEXT [####....] 3 of 10 UNIT, 1.5/s, 5 s left".
//
// Threads: one at a time. `log` must live as long.
class ProgressBar {
 public:
  ProgressBar(Log& log, std::string text, std::string unit)
      : log_(log), text_(std::move(text)), unit_(std::move(unit)) {}

  // `done` grows from call to call; one that does not begins anew.
  void show(std::int64_t done, std::int64_t total);

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] double between_s() const;
  // ", 1.5/s, 5 s left", as far as it can be said.
  [[nodiscard]] std::string rate(std::int64_t done, std::int64_t total) const;

  Log& log_;
  std::string text_;
  std::string unit_;
  Clock::time_point began_;
  Clock::time_point shown_;
  std::int64_t first_ = 0;  // done when it began
  std::int64_t last_ = 0;
  bool is_showing_ = false;
};

}  // namespace wam
