#include "models/wam/flops.h"

#include <numeric>

#include "models/wam/memory.h"
#include "test/support/catch.h"

namespace wam {

TEST_CASE(
    "FLOPs of a forward: the published geometries, with distinct timesteps and a pruned end") {
  // Counted by hand from the architecture; TFLOP of one sample of four blocks.
  CHECK(forward_flops(wam_preset("14b"), 4) * 1e-12 == Approx(452.38).epsilon(1e-3));
  CHECK(forward_flops(wam_preset("5b"), 4) * 1e-12 == Approx(9.856).epsilon(1e-3));
  WamConfig libero = wam_preset("5b");
  libero.actions_per_block = 16;
  CHECK(forward_flops(libero, 4) * 1e-12 == Approx(9.562).epsilon(1e-3));
  CHECK(training_flops(libero, 4) == Approx(3 * forward_flops(libero, 4)));
}

TEST_CASE("FLOPs by unit: embeddings, blocks and head add up to the forward") {
  for (const char* preset : {"tiny-14b", "5b"}) {
    const WamConfig config = wam_preset(preset);
    const auto units = unit_forward_flops(config, 4);

    REQUIRE(units.size() == static_cast<std::size_t>(config.layers) + 2);
    CHECK(std::accumulate(units.begin(), units.end(), 0.0) == Approx(forward_flops(config, 4)));
    CHECK(units[1] == units[static_cast<std::size_t>(config.layers) - 1]);
    CHECK(units[units.size() - 2] < units[1]);  // the last block gives out fewer tokens
  }
}

TEST_CASE("FLOPs of recomputation: nothing, the products before attention, whole blocks") {
  const WamConfig config = wam_preset("5b");
  const auto units = unit_forward_flops(config, 4);
  const double blocks = std::accumulate(units.begin() + 1, units.end() - 1, 0.0);
  const auto with = [&](const RecomputePlan& plan) { return recompute_flops(config, 4, plan); };

  CHECK(with({.policy = RecomputePolicy::kNone}) == 0);
  CHECK(with({.policy = RecomputePolicy::kNorms}) == 0);
  CHECK(with({.policy = RecomputePolicy::kFull}) == Approx(blocks));
  CHECK(with({.policy = RecomputePolicy::kNorms, .first_blocks = 2}) == Approx(2 * units[1]));
  // 1,000 tokens go in; 1,000 come out, 546 of the last block; 512 + 257 of context.
  const auto products = [](double out) {
    const double square = 3072.0 * 3072.0;
    return 2 * square * (2 * 1000 + out) + 2 * square * (out + 2 * 769) + 2 * out * 3072 * 14336;
  };
  CHECK(with({.policy = RecomputePolicy::kAttention}) ==
        Approx(29 * products(1000) + products(546)));
}

TEST_CASE("tensors that backward builds again: those of blocks that keep a part") {
  const WamConfig config = wam_preset("tiny-5b");
  const MicroBatchShape shape{.samples = 3};
  const auto with = [&](const RecomputePlan& plan) { return rebuilt_bytes(config, shape, plan); };
  const auto of_block = [&](BlockPlace place) {
    return block_bytes(config, shape, RecomputePolicy::kNorms, place).rebuilt;
  };

  CHECK(with({.policy = RecomputePolicy::kNone}) == 0);
  CHECK(with({.policy = RecomputePolicy::kFull}) == 0);
  CHECK(with({.policy = RecomputePolicy::kNorms, .first_blocks = 1}) ==
        (config.layers - 2) * of_block(BlockPlace::kInner) + of_block(BlockPlace::kLast));
}

}  // namespace wam
