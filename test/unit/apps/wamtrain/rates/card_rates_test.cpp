#include "apps/wamtrain/rates/card_rates.h"

#include <fstream>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"

using wam::CardRates;
using wam::load_rates;
using wam::MicroStepRate;
using wam::RecomputePolicy;
using wam::save_rates;

namespace {

const std::filesystem::path kH200 =
    std::filesystem::path(WAM_SOURCE_DIR) / "configs" / "rates" / "h200.yaml";

MicroStepRate row(double ms) {
  return {.model = "5b",
          .forward_tflop = 9.856,
          .micro_batch = 8,
          .recompute = RecomputePolicy::kNorms,
          .ms = ms,
          .forward_ms = 1,
          .source = "here"};
}

}  // namespace

TEST_CASE("card rates: the shipped file reads, and is what saving it would write") {
  const wam::test::TempFolder folder;
  const CardRates rates = load_rates(kH200);

  save_rates(rates, folder.path() / "new" / "again.yaml");

  CHECK(rates.card == "NVIDIA H200, 140 GiB");
  CHECK((wam::read_file(folder.path() / "new" / "again.yaml") == wam::read_file(kH200)));
}

TEST_CASE("card rates: every shipped number says where it comes from") {
  CardRates rates = load_rates(kH200);

  for (const auto* rate :
       {&rates.matmul_tflops, &rates.copy_tb_s, &rates.optimizer_tb_s, &rates.all_gather_gb_s,
        &rates.reduce_scatter_gb_s, &rates.all_reduce_gb_s, &rates.overlap_cost, &rates.hop_us,
        &rates.node_hop_us, &rates.host_link_gb_s, &rates.host_optimizer_gb_s}) {
    CHECK(rate->value > 0);
    CHECK_FALSE(rate->source.empty());
  }
  REQUIRE(rates.micro_steps.size() >= 5);
  REQUIRE(rates.encoders.size() >= 2);
  for (const auto& micro_step : rates.micro_steps) {
    CHECK_FALSE(micro_step.source.empty());
    CHECK(micro_step.forward_ms < micro_step.ms);
  }
  for (const auto& encoder : rates.encoders) CHECK_FALSE(encoder.source.empty());
}

TEST_CASE("card rates: a case replaces its equal, others are added") {
  CardRates rates;
  put(rates, row(1));
  put(rates, row(2));
  REQUIRE(rates.micro_steps.size() == 1);
  CHECK(rates.micro_steps[0].ms == 2);

  for (const auto change : {0, 1, 2, 3}) {
    MicroStepRate other = row(3);
    if (change == 0) other.micro_batch = 4;
    if (change == 1) other.recompute = RecomputePolicy::kFull;
    if (change == 2) other.first_blocks = 2;
    if (change == 3) other.forward_tflop = 9.562;
    put(rates, other);
    CHECK(rates.micro_steps.size() == static_cast<std::size_t>(change) + 2);
  }

  put(rates, wam::EncoderRate{.model = "5b", .clip_megapixels = 1.7, .clips = 8, .video_ms = 5});
  put(rates, wam::EncoderRate{.model = "5b", .clip_megapixels = 1.7, .clips = 8, .video_ms = 6});
  REQUIRE(rates.encoders.size() == 1);
  CHECK(rates.encoders[0].video_ms == 6);
}

TEST_CASE("card rates: a file is named after its card") {
  CHECK(wam::rates_file_name("NVIDIA H200, 140 GiB") == "h200.yaml");
  CHECK(wam::rates_file_name("NVIDIA H100 80GB HBM3, 79.1 GiB") == "h100_80gb_hbm3.yaml");
  CHECK(wam::rates_file_name("CPU, 2 threads") == "cpu.yaml");
}

TEST_CASE("card rates: mistakes in a file are reported with their place") {
  const wam::test::TempFolder folder;
  const auto file = folder.path() / "mine.yaml";
  std::ofstream(file) << "memory_gib: 80\nall_gather: {value: 3}\nhop_us: {value: -1}\n";

  try {
    load_rates(file);
    FAIL("no error");
  } catch (const wam::ConfigError& error) {
    CHECK_THAT(error.what(), Catch::Contains("mine.yaml:2") && Catch::Contains("all_gather_gb_s"));
    CHECK_THAT(error.what(), Catch::Contains("mine.yaml:3") && Catch::Contains("at least 0"));
  }
  std::ofstream(file) << "memory_gib: 80\n";
  CHECK_THROWS_WITH(load_rates(file), Catch::Contains("card: not named"));
  CHECK_THROWS_WITH(load_rates(folder.path() / "none.yaml"), Catch::Contains("none.yaml"));
}
