#include "core/train/recent_steps.h"

#include "test/support/catch.h"

namespace wam {
namespace {

constexpr auto kWindow = static_cast<int>(RecentSteps::kWindow);

StepTimes waiting(double gather, double reduce, double data) {
  return {.step_s = 1, .exposed_gather_s = gather, .exposed_reduce_s = reduce, .data_wait_s = data};
}

std::vector<std::string> advice_after(RecentSteps& steps, const StepTimes& each, int count) {
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i) {
    steps.add(each);
    for (const auto& line : steps.new_advice()) out.push_back(line);
  }
  return out;
}

}  // namespace

TEST_CASE("recent steps: time is the mean of the last ones, without checkpoints") {
  RecentSteps steps({});
  CHECK(steps.step_s() == 0);
  steps.add({.step_s = 100});
  for (int i = 0; i < kWindow; ++i) steps.add({.step_s = 3, .checkpoint_s = 1});
  CHECK(steps.step_s() == Approx(2));
}

TEST_CASE("recent steps: what is waited for is shown from one percent on") {
  RecentSteps steps({});
  CHECK(steps.waits_text().empty());
  steps.add(waiting(0.004, 0.005, 0.009));
  CHECK(steps.waits_text().empty());
  steps.add(waiting(0.08, 0.041, 0.051));
  CHECK(steps.waits_text() == "  comm 6 %  data 3 %");
  steps.add({.step_s = 2, .checkpoint_s = 1});
  CHECK(steps.waits_text() == "  comm 3 %  data 2 %  checkpoint 25 %");
}

TEST_CASE("recent steps: advice comes once for each cause, with the figures and the setting") {
  RecentSteps steps({.communication = "parallel.reduce: last", .data = "data.workers above 2"});

  CHECK(advice_after(steps, waiting(0.08, 0.04, 0), kWindow).empty());  // the first is among them
  const auto communication = advice_after(steps, waiting(0.08, 0.04, 0), 3 * kWindow);
  REQUIRE(communication.size() == 1);
  CHECK(communication[0] ==
        "the last 20 steps waited 12 % of their time for other ranks (gathers 8 %, reductions 4 "
        "%). To try: parallel.reduce: last.");
  const auto data = advice_after(steps, waiting(0.08, 0.04, 0.8), 3 * kWindow);
  REQUIRE(data.size() == 1);
  CHECK(data[0] ==
        "the last 20 steps waited 4.0 % of their time for data. To try: data.workers above 2.");
}

TEST_CASE("recent steps: no advice below the limits, for a first step, or with nothing to try") {
  const WaitAdvice both{.communication = "a", .data = "b"};
  RecentSteps little(both);
  CHECK(advice_after(little, waiting(0.05, 0.049, 0.019), 3 * kWindow).empty());
  RecentSteps slow_start(both);
  slow_start.add(waiting(20, 20, 20));
  CHECK(advice_after(slow_start, waiting(0, 0, 0), 3 * kWindow).empty());
  RecentSteps nothing_to_try({});
  CHECK(advice_after(nothing_to_try, waiting(0.5, 0, 0.5), 3 * kWindow).empty());
}

}  // namespace wam
