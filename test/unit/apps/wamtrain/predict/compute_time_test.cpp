#include "apps/wamtrain/predict/compute_time.h"

#include "models/wam/flops.h"
#include "test/support/catch.h"

using wam::CardRates;
using wam::load_rates;
using wam::micro_step_times;
using wam::MicroBatchShape;
using wam::PassTimes;
using wam::RecomputePlan;
using wam::RecomputePolicy;
using wam::WamConfig;

namespace {

CardRates h200() {
  return load_rates(std::filesystem::path(WAM_SOURCE_DIR) / "configs" / "rates" / "h200.yaml");
}

PassTimes times(const CardRates& rates,
                const WamConfig& config,
                std::int64_t samples,
                const RecomputePlan& plan) {
  const auto found = micro_step_times(rates, config, {.samples = samples}, plan);
  REQUIRE(found.has_value());
  return *found;
}

// A model of one block and nothing else that is worth counting, with round numbers.
CardRates round_rates(const WamConfig& config) {
  CardRates rates;
  rates.copy_tb_s.value = 1e9;  // tensors that are built again cost nothing
  const double tflop = 1e-12 * wam::forward_flops(config, config.max_blocks);
  for (const std::int64_t samples : {2, 6}) {
    rates.micro_steps.push_back({.model = "x",
                                 .forward_tflop = tflop,
                                 .micro_batch = samples,
                                 .ms = 100.0 + 50.0 * static_cast<double>(samples),
                                 .forward_ms = 10.0 * static_cast<double>(samples)});
  }
  return rates;
}

}  // namespace

TEST_CASE("compute time: a measured case stands as it is") {
  const auto t = times(h200(), wam::wam_preset("5b"), 8, {});

  CHECK(t.basis == "measured");
  CHECK(t.total_s() == Approx(0.43138).epsilon(1e-4));
  CHECK(t.forward_s == Approx(0.13799).epsilon(1e-4));
}

TEST_CASE("compute time: a straight line between micro-batches, proportional beyond them") {
  const WamConfig config = wam::wam_preset("tiny-5b");
  const CardRates rates = round_rates(config);

  const auto inside = times(rates, config, 3, {});
  CHECK(inside.total_s() == Approx(0.250));
  CHECK(inside.forward_s == Approx(0.030));
  CHECK(inside.basis == "interpolated between micro-batches 2 and 6");

  const auto above = times(rates, config, 12, {});
  CHECK(above.total_s() == Approx(0.800));
  CHECK(above.basis == "extrapolated from micro-batch 6, proportional to the samples");
  CHECK(times(rates, config, 1, {}).total_s() == Approx(0.100));
}

TEST_CASE("compute time: full recomputation is the blocks' forward once more") {
  const WamConfig config = wam::wam_preset("tiny-5b");
  const auto units = wam::unit_forward_flops(config, config.max_blocks);
  const double blocks =
      1 - (units.front() + units.back()) / wam::forward_flops(config, config.max_blocks);

  const auto t = times(round_rates(config), config, 2, {.policy = RecomputePolicy::kFull});

  CHECK(t.total_s() == Approx(0.200 + 0.020 * blocks));
  CHECK(t.forward_s == Approx(0.020));
}

TEST_CASE("compute time: another size is scaled by its work, and says so") {
  const WamConfig config = wam::wam_preset("tiny-5b");
  const CardRates rates = round_rates(config);
  WamConfig deeper = config;
  deeper.layers = 2 * config.layers;
  const double factor = wam::forward_flops(deeper, 4) / wam::forward_flops(config, 4);

  const auto t = times(rates, deeper, 2, {});

  CHECK(t.total_s() == Approx(0.200 * factor));
  CHECK_THAT(t.basis, Catch::Contains("from the x's work of a forward"));
}

TEST_CASE("compute time: other number formats have no time") {
  const MicroBatchShape fp32{.compute_type = c10::kFloat};
  CHECK_FALSE(micro_step_times(h200(), wam::wam_preset("5b"), fp32, {}).has_value());
}

// Each measured row is left out in turn, and predicted from the others.
TEST_CASE("compute time: measured cases are predicted from the others within some percent") {
  const CardRates all = h200();
  struct Case {
    std::string model;
    std::int64_t samples;
    RecomputePolicy policy;
    double within;
  };
  for (const Case& c :
       {Case{"5b", 32, RecomputePolicy::kFull, 0.02}, Case{"5b", 8, RecomputePolicy::kNone, 0.02},
        Case{"14b", 1, RecomputePolicy::kNorms, 0.02},
        Case{"14b", 1, RecomputePolicy::kFull, 0.02}}) {
    CardRates others = all;
    std::optional<wam::MicroStepRate> measured;
    std::erase_if(others.micro_steps, [&](const wam::MicroStepRate& row) {
      const bool is_it =
          row.model == c.model && row.micro_batch == c.samples && row.recompute == c.policy;
      if (is_it) measured = row;
      return is_it;
    });
    REQUIRE(measured.has_value());

    const auto t = times(others, wam::wam_preset(c.model), c.samples, measured->plan());

    INFO(c.model << " " << c.samples << " " << t.basis << " " << 1e3 * t.total_s());
    CHECK(t.total_s() == Approx(1e-3 * measured->ms).epsilon(c.within));
  }
}
