#include "apps/wamtrain/bench/step_lines.h"

#include <filesystem>

#include "core/base/errors.h"
#include "core/train/metrics.h"
#include "test/support/catch.h"

TEST_CASE("step lines: what the training loop writes is read back") {
  std::filesystem::path kept;
  {
    const wam::ScratchFile scratch;
    kept = scratch.path();
    wam::MetricsFile metrics(scratch.path());
    wam::StepMetrics line;
    line.times.step_s = 0.25;
    line.times.data_wait_s = 0.125;
    metrics.write(line);
    line.skipped = true;
    metrics.write(line);

    const auto lines = wam::read_step_lines(scratch.path());

    REQUIRE(lines.size() == 2);
    CHECK(lines[0].times.step_s == 0.25);
    CHECK(lines[0].times.data_wait_s == 0.125);
    CHECK_FALSE(lines[0].skipped);
    CHECK(lines[1].skipped);
  }
  CHECK_FALSE(std::filesystem::exists(kept));
  CHECK_THROWS_AS(wam::read_step_lines(kept), wam::DataError);
}
