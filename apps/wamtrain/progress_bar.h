#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "core/base/log.h"

namespace wam {

// How far something is that is done in steps: on a terminal a bar, elsewhere a line now and then;
// nothing for what is done within a second. "TEXT [####....] 3 of 10 UNIT, 1.5/s, 4.7 s left".
//
// Threads: one at a time. `log` must live as long.
class ProgressBar {
 public:
  ProgressBar(Log& log, std::string text, std::string unit)
      : log_(log), text_(std::move(text)), unit_(std::move(unit)) {}

  // `done` counts from 1; 1 begins anew.
  void show(std::int64_t done, std::int64_t total);

 private:
  [[nodiscard]] std::string rate_text(std::int64_t done, std::int64_t total) const;
  [[nodiscard]] double between_s() const;

  Log& log_;
  std::string text_;
  std::string unit_;
  std::chrono::steady_clock::time_point began_;
  std::chrono::steady_clock::time_point shown_;
  bool is_showing_ = false;
};

}  // namespace wam
