#include "apps/wamtrain/bench/synthetic.h"

#include "apps/wamtrain/bench/units.h"
#include "models/wam/parameters.h"
#include "test/support/catch.h"

using wam::HoldsState;
using wam::make_bench_units;

TEST_CASE("synthetic values: as large as asked, and the same at every call") {
  const auto a = wam::random_values({3, 700, 1000}, at::kCPU, at::kFloat, 0.5);
  CHECK(a.sizes() == at::IntArrayRef({3, 700, 1000}));
  CHECK(a.std().item<float>() == Approx(0.5).epsilon(0.01));
  CHECK(a.equal(wam::random_values({3, 700, 1000}, at::kCPU, at::kFloat, 0.5)));
}

TEST_CASE("synthetic batch: what the loader would give for a full clip") {
  const auto config = wam::wam_preset("tiny-14b");
  const auto batch = wam::synthetic_batch(config, 2, 7, 40);

  CHECK(batch.ordinal == std::vector<std::uint64_t>{40, 41});
  CHECK(batch.image_BTHWC.sizes() ==
        at::IntArrayRef(
            {2, 1 + 8 * config.max_blocks, config.target_height, config.target_width, 3}));
  CHECK(batch.image_BTHWC.to(at::kFloat).std().item<float>() > 20);
  CHECK(batch.text_BMD.size(1) == 7);
  CHECK(batch.action_BPA.abs().max().item<float>() <= 1);
}

TEST_CASE("bench units: no state unless it is asked for, and a share of it") {
  const auto specs = wam::wam_units(wam::wam_preset("tiny-5b"));
  const auto whole = make_bench_units(specs, {.compute_type = at::kFloat});
  const auto with_state =
      make_bench_units(specs, {.compute_type = at::kFloat, .state = HoldsState::kYes});
  const auto assumed = make_bench_units(
      specs,
      {.compute_type = at::kFloat, .state = HoldsState::kYes, .mesh = wam::assumed_shard(4)});

  std::int64_t parameters = 0;
  for (const auto& spec : specs) parameters += spec.numel;
  const auto bytes = wam::planned_bytes(specs, {.compute_type = at::kFloat});
  CHECK(bytes == 8 * parameters);
  CHECK(wam::planned_bytes(specs, {.mesh = wam::assumed_shard(4)}) < bytes);
  CHECK(whole->units()[1].states().empty());
  const auto held = [](wam::Sharding& sharding) {
    return sharding.units()[1].state("master").numel();
  };
  CHECK(held(*with_state) == specs[1].numel);
  CHECK(held(*assumed) == Approx(static_cast<double>(specs[1].numel) / 4).epsilon(0.05));
  for (const auto* sharding : {&whole, &with_state, &assumed}) {
    (*sharding)->begin_pass();
    for (std::size_t i = 0; i < specs.size(); ++i) {
      auto& unit = (*sharding)->acquire(i, wam::Pass::kForward);
      CHECK(unit.compute().std().item<float>() == Approx(0.02).epsilon(0.1));
      (*sharding)->release(i, wam::Pass::kForward);
    }
    (*sharding)->end_pass();
  }
}
