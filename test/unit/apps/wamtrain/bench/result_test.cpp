#include "apps/wamtrain/bench/result.h"

#include <sstream>

#include <nlohmann/json.hpp>

#include "core/base/errors.h"
#include "test/support/catch.h"

using Catch::Contains;
using wam::BenchOrigin;
using wam::BenchResult;

namespace {

BenchResult make_result() {
  BenchResult out;
  out.title = "transformer, forward + backward";
  out.settings = {{"model", "5b"}, {"micro_batch", "8"}};
  out.figures = {{"samples_s", "rate", 20.0, "samples/s", 0.84},
                 {"ms", "time, median of 10", 400.0, "ms", 0.84},
                 {"peak_bytes", "peak memory", 3.0 * 1024 * 1024 * 1024, "bytes", {}},
                 {"launches", "kernels in a step", 1234, "launches", {}},
                 {"idle_share", "device idle", 0.0125, "share", {}}};
  out.step_ms = 400;
  out.phases = {{"forward", 100, 588.0, {}}, {"norms", 8, {}, 3.2}, {"other", 4, {}, {}}};
  out.kernels = {{"nvjet", 120, 250}};
  out.notes = {"A note."};
  return out;
}

BenchOrigin make_origin() {
  return {.program = "wamtrain 0.1.0 (abc)",
          .card = "NVIDIA H200",
          .commit = "abc",
          .command = "wamtrain bench r.yaml",
          .recipe_hash = "77",
          .ceilings = wam::Ceilings{.matmul_tflops = 700, .copy_tb_s = 4}};
}

}  // namespace

TEST_CASE("bench table: figures with their units, phases with their shares, within 100 columns") {
  auto result = make_result();
  for (int i = 0; i < 6; ++i) result.settings.emplace_back("some_setting", "of_some_length");
  const std::string text = bench_text(result, make_origin());

  for (const char* part :
       {"wamtrain 0.1.0 (abc) on NVIDIA H200", "model 5b, micro_batch 8", "20.00 samples/s",
        "0.840 of the card's own rate", "400.0 ms", "3.00 GiB", "1,234", "1.25 %", "700.0 TFLOP/s",
        "4.00 TB/s", "25.0 %     588.0", "84.0 %", "3.20      80.0 %", "120.0  nvjet", "A note."}) {
    CHECK_THAT(text, Contains(part));
  }
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK(line.size() <= 100);
  }
}

TEST_CASE("bench table: without ceilings nothing is of the card") {
  auto result = make_result();
  for (auto& figure : result.figures) figure.ratio.reset();
  auto origin = make_origin();
  origin.ceilings.reset();

  const std::string text = bench_text(result, origin);

  CHECK_THAT(text, !Contains("own rate") && !Contains("the card:") && !Contains("84.0 %"));
  CHECK(nlohmann::json::parse(bench_json(result, origin))["ceiling"].is_null());
}

TEST_CASE("bench JSON: everything that the table has") {
  const auto json = nlohmann::json::parse(bench_json(make_result(), make_origin()));

  CHECK(json["what"] == "transformer, forward + backward");
  CHECK(json["ceiling"]["matmul_tflops"] == 700);
  CHECK(json["figures"]["samples_s"]["value"] == 20);
  CHECK(json["figures"]["peak_bytes"]["ratio"].is_null());
  CHECK(json["phases"][0]["share"] == Approx(0.25));
  CHECK(json["phases"][0]["ratio"] == Approx(0.84));
  CHECK(json["phases"][1]["ratio"] == Approx(0.8));
  CHECK(json["kernels"][0]["launches"] == 120);
  CHECK(json["settings"]["model"] == "5b");
  CHECK(json["card"] == "NVIDIA H200");
}

TEST_CASE("bench JSON: a named figure stands first, with where it comes from") {
  const auto json =
      nlohmann::json::parse(figure_json({"5b_mbs8_ms", "ms"}, make_result(), make_origin()));

  CHECK(json["id"] == "5b_mbs8_ms");
  CHECK_THAT(json["name"].get<std::string>(), Contains("time, median of 10"));
  CHECK(json["value"] == 400);
  CHECK(json["unit"] == "ms");
  CHECK(json["ceiling"]["copy_tb_s"] == 4);
  CHECK(json["ratio"] == 0.84);
  CHECK(json["commit"] == "abc");
  CHECK(json["command"] == "wamtrain bench r.yaml");
}

TEST_CASE("bench JSON: a figure that this run lacks is said") {
  CHECK_THROWS_WITH(figure_json({"a", "host_ms"}, make_result(), make_origin()),
                    Contains("host_ms was not measured in this run"));
}

TEST_CASE("bench table: collectives by axis and size, within 100 columns") {
  BenchResult result;
  result.title = "collectives by size";
  result.transfers = {{.axis = "replicate",
                       .ranks = 128,
                       .operation = "reduce_scatter",
                       .bytes = 1024 * 1024,
                       .ms = 0.5,
                       .algorithm_gb_s = 2.097,
                       .bus_gb_s = 1.048,
                       .link_gb_s = 255}};

  const std::string text = bench_text(result, make_origin());

  for (const char* part : {"replicate", "128", "reduce_scatter", "1.00 MiB", "0.500", "2.10",
                           "1.05", "255.0", "algorithm GB/s", "bus GB/s", "link GB/s"}) {
    CHECK_THAT(text, Contains(part));
  }
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 100);
  const auto json = nlohmann::json::parse(bench_json(result, make_origin()));
  CHECK(json["transfers"][0]["bus_gb_s"] == 1.048);
  CHECK(json["transfers"][0]["link_gb_s"] == 255);
}
