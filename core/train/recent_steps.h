#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "core/train/step_times.h"

namespace wam {

// What to try when steps wait too long, in the recipe's words. Empty: nothing is left to try.
struct WaitAdvice {
  std::string communication;
  std::string data;
};

// The last steps of a run: how long they took and what they waited for.
class RecentSteps {
 public:
  static constexpr std::size_t kWindow = 20;
  // Above these shares of the last kWindow steps there is advice.
  static constexpr double kMuchCommunication = 0.10;
  static constexpr double kMuchDataWait = 0.02;

  explicit RecentSteps(const WaitAdvice& advice);

  void add(const StepTimes& step);
  // Mean, without checkpoints.
  [[nodiscard]] double step_s() const;
  // "  comm 6 %  data 3 %": what is at least one percent. For the end of a line.
  [[nodiscard]] std::string waits_text() const;
  // Lines of advice that are due now, each of them once. The first step of a run, in which all
  // begins, does not count.
  [[nodiscard]] std::vector<std::string> new_advice();

 private:
  [[nodiscard]] double sum(double StepTimes::*part) const;

  std::deque<StepTimes> steps_;
  std::int64_t added_ = 0;
  bool communication_due_;  // not said yet
  bool data_due_;
  WaitAdvice advice_;
};

}  // namespace wam
