#include "models/wam/flops.h"

#include "test/support/catch.h"

namespace wam {

TEST_CASE("FLOPs of a forward: the published geometries, with distinct timesteps and a pruned end") {
  // Counted by hand from the architecture; TFLOP of one sample of four blocks.
  CHECK(forward_flops(wam_preset("14b"), 4) * 1e-12 == Approx(452.38).epsilon(1e-3));
  CHECK(forward_flops(wam_preset("5b"), 4) * 1e-12 == Approx(9.856).epsilon(1e-3));
  WamConfig libero = wam_preset("5b");
  libero.actions_per_block = 16;
  CHECK(forward_flops(libero, 4) * 1e-12 == Approx(9.562).epsilon(1e-3));
  CHECK(training_flops(libero, 4) == Approx(3 * forward_flops(libero, 4)));
}

}  // namespace wam
