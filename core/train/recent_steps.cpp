#include "core/train/recent_steps.h"

#include <utility>

#include <fmt/core.h>

namespace wam {

RecentSteps::RecentSteps(const WaitAdvice& advice)
    : communication_due_(!advice.communication.empty()),
      data_due_(!advice.data.empty()),
      advice_(advice) {}

void RecentSteps::add(const StepTimes& step) {
  ++added_;
  steps_.push_back(step);
  if (steps_.size() > kWindow) steps_.pop_front();
}

double RecentSteps::sum(double StepTimes::*part) const {
  double out = 0;
  for (const StepTimes& step : steps_) out += step.*part;
  return out;
}

double RecentSteps::step_s() const {
  if (steps_.empty()) return 0;
  const double seconds = sum(&StepTimes::step_s) - sum(&StepTimes::checkpoint_s);
  return seconds / static_cast<double>(steps_.size());
}

std::string RecentSteps::waits_text() const {
  const double whole = sum(&StepTimes::step_s);
  std::string out;
  const auto show = [&](const char* name, double seconds) {
    if (seconds >= 0.01 * whole && whole > 0) {
      out += fmt::format("  {} {:.0f} %", name, 100 * seconds / whole);
    }
  };
  show("comm", sum(&StepTimes::exposed_gather_s) + sum(&StepTimes::exposed_reduce_s));
  show("data", sum(&StepTimes::data_wait_s));
  show("checkpoint", sum(&StepTimes::checkpoint_s));
  return out;
}

std::vector<std::string> RecentSteps::new_advice() {
  std::vector<std::string> out;
  const double whole = sum(&StepTimes::step_s);
  if (added_ <= static_cast<std::int64_t>(kWindow) || whole <= 0) return out;
  const double gather = sum(&StepTimes::exposed_gather_s) / whole;
  const double reduce = sum(&StepTimes::exposed_reduce_s) / whole;
  const double data = sum(&StepTimes::data_wait_s) / whole;
  if (gather + reduce > kMuchCommunication && std::exchange(communication_due_, false)) {
    out.push_back(fmt::format(
        "the last {} steps waited {:.0f} % of their time for other ranks (gathers "
        "{:.0f} %, reductions {:.0f} %). To try: {}.",
        kWindow, 100 * (gather + reduce), 100 * gather, 100 * reduce, advice_.communication));
  }
  if (data > kMuchDataWait && std::exchange(data_due_, false)) {
    out.push_back(
        fmt::format("the last {} steps waited {:.1f} % of their time for data. To try: {}.",
                    kWindow, 100 * data, advice_.data));
  }
  return out;
}

}  // namespace wam
