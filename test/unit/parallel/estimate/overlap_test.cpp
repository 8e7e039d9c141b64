#include "parallel/estimate/overlap.h"

#include "test/support/catch.h"

using wam::communication_of;
using wam::OverlapRates;
using wam::Spread;
using wam::UnitLoad;

namespace {

std::vector<UnitLoad> blocks(double forward_s, double backward_s) {
  return std::vector<UnitLoad>(
      3, {.trainable_numel = 1000, .forward_s = forward_s, .backward_s = backward_s});
}

// 1,000 parameters in bf16, of which half travel: 1 s; their gradients in fp32: 2 s.
const OverlapRates kRates{
    .links = {.all_gather_gb_s = 1e-6, .reduce_scatter_gb_s = 1e-6, .all_reduce_gb_s = 2e-6}};
const Spread kFull{.gpus = 2, .shard_size = 2, .shards_weights = true};

}  // namespace

TEST_CASE("overlap: under long compute only the first gather and the last reduction are seen") {
  const auto c = communication_of(blocks(5, 10), kFull, 1, kRates);

  CHECK(c.busy_s == Approx(3 + 1 + 3 * 2));  // forward 3, backward 1 (two blocks are still there)
  CHECK(c.exposed_s == Approx(1 + 2));
}

TEST_CASE("overlap: without reductions the micro-steps before the last show one gather") {
  CHECK(communication_of(blocks(5, 10), kFull, 4, kRates).exposed_s == Approx(3 * 1 + 1 + 2));

  Spread each = kFull;
  each.reduces_each = true;
  CHECK(communication_of(blocks(5, 10), each, 4, kRates).exposed_s == Approx(4 * (1 + 2)));
}

TEST_CASE("overlap: short compute waits for the gathers, and reductions pile up") {
  const auto c = communication_of(blocks(0.5, 0.5), kFull, 1, kRates);

  // Forward: gathers end at 1, 2 and 3, compute of 0.5 s follows each. Backward of blocks 2 and 1
  // ends at 4.0 and 4.5. Queue: gathers 0-3; reduce of 2 from 4.0 to 6.0; gather of 0 6.0-7.0
  // (issued at 4.0); reduce of 1 (done at 4.5) 7-9; backward of 0 from 7.0 to 7.5; its reduction
  // 9-11. Compute is 3 s.
  CHECK(c.busy_s == Approx(10));
  CHECK(c.exposed_s == Approx(11 - 3));
}

TEST_CASE("overlap: gradients in two slots hold the backward back") {
  Spread slots{.gpus = 2, .shard_size = 2, .reduces_each = true};
  // Backwards end at 1 and 2; the third waits for the first reduction (1 to 3) and ends at 4; the
  // reductions end at 3, 5 and 7. No forward. Weights gathered after the update: 3 s.
  CHECK(communication_of(blocks(0, 1), slots, 1, kRates).exposed_s == Approx(7 - 3 + 3));

  slots.reduces_each = false;  // the third backward ends at 3: the queue is as long
  CHECK(communication_of(blocks(0, 1), slots, 1, kRates).exposed_s == Approx(7 - 3 + 3));
}

TEST_CASE("overlap: replicas reduce under the backward") {
  // 1,000 gradients: 4,000 bytes, twice half of them at 2,000 a second: 2 s.
  const auto c = communication_of(blocks(5, 10), {.gpus = 2}, 3, kRates);

  CHECK(c.busy_s == Approx(3 * 2));
  CHECK(c.exposed_s == Approx(2));
}

TEST_CASE("overlap: hidden collectives cost compute") {
  OverlapRates rates = kRates;
  rates.overlap_cost = 0.5;

  const auto c = communication_of(blocks(5, 10), kFull, 1, rates);

  CHECK(c.waits_s == Approx(3));
  CHECK(c.exposed_s == Approx(3 + 0.5 * (10 - 3)));
}

TEST_CASE("overlap: uploads from host memory keep the queue, but take nothing from compute") {
  OverlapRates rates = kRates;
  rates.overlap_cost = 0.5;
  rates.links.host_gb_s = 2e-6;  // 1,000 bf16: 1 s alone, half a second for each of two ranks
  Spread host{.state_on_host = true, .weights_on_host = true};

  // Forward 3 uploads, backward 1; the first is seen.
  auto c = communication_of(blocks(5, 10), host, 1, rates);
  CHECK(c.busy_s == 0);
  CHECK(c.exposed_s == Approx(1));
  // Each forward starts an upload of 1 s and computes for half of it; of the backwards, the one of
  // block 1 does, and blocks 2 and 1 have their weights.
  c = communication_of(blocks(0.5, 0.5), host, 1, rates);
  CHECK(c.exposed_s == Approx(1 + 0.5 + 0.5 + 0.5));

  host.gpus = host.shard_size = 2;
  host.shards_weights = true;
  c = communication_of(blocks(5, 10), host, 1, rates);
  CHECK(c.busy_s == Approx(10));
  CHECK(c.waits_s == Approx(1.5 + 2));
}

TEST_CASE("overlap: units that are held are gathered after the update, alone") {
  auto units = blocks(5, 10);
  units.front().held_throughout = true;

  const auto c = communication_of(units, kFull, 1, kRates);

  // The gather of block 1 hides beneath unit 0; the reduction of unit 0 does not.
  CHECK(c.busy_s == Approx(2 + 3 * 2 + 1));
  CHECK(c.exposed_s == Approx(2 + 1));
}
