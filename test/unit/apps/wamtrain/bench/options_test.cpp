#include "apps/wamtrain/bench/options.h"

#include "apps/wamtrain/option_word.h"
#include "core/base/errors.h"
#include "test/support/catch.h"

using Catch::Contains;
using wam::BenchOptions;
using wam::BenchWhat;

namespace {

std::string refusal(const BenchOptions& options, int ranks = 1) {
  try {
    wam::check(options, ranks);
  } catch (const wam::ConfigError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("bench options: the defaults go together, whatever is timed") {
  for (const auto& [what, name] : wam::EnumNames<BenchWhat>::table) {
    BenchOptions options;
    options.what = what;
    INFO(name);
    CHECK(refusal(options, what == BenchWhat::kComm ? 2 : 1).empty());
    CHECK_FALSE(wam::figure_names(what).empty());
  }
}

TEST_CASE("bench options: every problem is named at once") {
  BenchOptions options;
  options.what = BenchWhat::kOptimizer;
  options.steps = 0;
  options.text_rows = 12;
  options.clips = 0;
  options.encoder = wam::BenchEncoder::kVae;
  options.ceiling_seconds = -1;

  const std::string text = refusal(options);

  for (const char* part : {"6 problems", "--steps 0", "--clips 0", "--ceiling-seconds -1",
                           "--text-rows does not go with --what optimizer. Fix: leave it out, or "
                           "choose model or step or encoders",
                           "--clips does not go with", "--encoder does not go with"}) {
    CHECK_THAT(text, Contains(part));
  }
}

TEST_CASE("bench options: links need several ranks, and a loader one") {
  BenchOptions options;
  options.what = BenchWhat::kComm;
  CHECK_THAT(refusal(options), Contains("one rank, so there is nothing to measure. Fix: "));
  options.assume_world = 2;
  CHECK_THAT(refusal(options, 2), Contains("--assume-world does not go with --what comm"));

  BenchOptions compared;
  compared.against_one = true;
  CHECK_THAT(refusal(compared), Contains("--against-one") && Contains("alone already. Fix: "));
  CHECK(refusal(compared, 2).empty());
  compared.what = BenchWhat::kData;
  CHECK(refusal(compared).empty());  // of workers, not of ranks
  compared.what = BenchWhat::kModel;
  compared.assume_world = 4;
  CHECK_THAT(refusal(compared, 2), Contains("--assume-world: it is for one rank"));

  BenchOptions data;
  data.what = BenchWhat::kData;
  CHECK_THAT(refusal(data, 2), Contains("--what data") && Contains("this start has 2. Fix: "));
  data.torchvision = "scripts/time_torchvision.py";
  CHECK(refusal(data).empty());
  data.what = BenchWhat::kLoop;
  CHECK_THAT(refusal(data), Contains("--torchvision does not go with --what loop"));
}

TEST_CASE("bench options: a trace needs profiled steps, a folder a name") {
  BenchOptions trace;
  trace.profile = "trace.json";
  trace.phases = false;
  CHECK_THAT(refusal(trace), Contains("--no-phases and --profile"));

  BenchOptions folder;
  folder.json_folder = "docs/benchmarks";
  CHECK_THAT(refusal(folder), Contains("--json-dir") && Contains("--id"));

  BenchOptions idle;
  idle.ids = {"5b_idle_share"};
  idle.phases = false;
  CHECK_THAT(refusal(idle), Contains("comes from the profiler"));
}

TEST_CASE("bench options: an id takes the named figure, the one it ends in, or the first") {
  const auto figure_of = [](BenchWhat what, const std::string& id) {
    BenchOptions options;
    options.what = what;
    options.ids = {id};
    return wam::figure_ids(options).front().figure;
  };
  CHECK(figure_of(BenchWhat::kModel, "5b_fwd_bwd_best") == "samples_s");
  CHECK(figure_of(BenchWhat::kModel, "5b_mbs32_full") == "samples_s");
  CHECK(figure_of(BenchWhat::kModel, "5b_mbs1_ms") == "ms");
  CHECK(figure_of(BenchWhat::kModel, "5b_host_ms") == "host_ms");
  CHECK(figure_of(BenchWhat::kModel, "5b_mbs1=peak_bytes") == "peak_bytes");
  CHECK(figure_of(BenchWhat::kEncoders, "vae38_32_clips_ms") == "ms");
  CHECK(figure_of(BenchWhat::kEncoders, "vae21_clip_ms") == "ms");
  CHECK(figure_of(BenchWhat::kOptimizer, "adamw_tb_s") == "tb_s");
  CHECK(figure_of(BenchWhat::kLoop, "5b_loop_samples_s") == "samples_s");
  CHECK(figure_of(BenchWhat::kLoop, "5b_loop_idle_share") == "idle_share");
  CHECK(figure_of(BenchWhat::kStep, "5b_full_shard_2gpu_efficiency") == "efficiency");
  CHECK(figure_of(BenchWhat::kStep, "5b_full_shard_exposed_share") == "exposed_share");
  CHECK(figure_of(BenchWhat::kStep, "14b_offload_2gpu_over_compute") == "over_compute");
  CHECK(figure_of(BenchWhat::kStep, "checkpoint_stall_ms") == "checkpoint_stall_ms");
  CHECK(figure_of(BenchWhat::kModel, "strategy_host_ms") == "strategy_host_ms");
  CHECK(figure_of(BenchWhat::kComm, "h200_all_reduce_gb_s") == "all_reduce_gb_s");
}

TEST_CASE("bench options: an id names a file, and a figure that there is") {
  BenchOptions options;
  options.ids = {"../x"};
  CHECK_THAT(refusal(options), Contains("--id ../x") && Contains("names a file"));
  options.ids = {"a=tb_s"};
  CHECK_THAT(refusal(options),
             Contains("--what model has no figure tb_s") && Contains("samples_s, ms"));
}

TEST_CASE("bench options: a word that is none names the nearest") {
  CHECK(wam::option_word<BenchWhat>("--what", "loop") == BenchWhat::kLoop);
  CHECK_THROWS_WITH(wam::option_word<BenchWhat>("--what", "encoder"),
                    Contains("--what encoder") && Contains("Fix: write encoders."));
}
