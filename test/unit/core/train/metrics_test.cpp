#include "core/train/metrics.h"

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include <nlohmann/json.hpp>

#include "core/base/errors.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"

using nlohmann::json;

namespace {

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

wam::StepMetrics metrics_of(std::int64_t step, double loss) {
  wam::StepMetrics metrics;
  metrics.step = step;
  metrics.loss = loss;
  return metrics;
}

}  // namespace

TEST_CASE("metrics: one line each, on the disk when write returns, appended to what is there") {
  const wam::test::TempFolder folder;
  const auto path = folder.path() / "metrics.jsonl";
  std::ofstream(path) << "{\"step\":1}\n";
  wam::MetricsFile file(path);

  file.write(metrics_of(2, 0.1));
  CHECK_THAT(text_of(path), Catch::StartsWith("{\"step\":1}\n{\"step\":2,"));
  file.write(metrics_of(3, 0));

  const auto text = text_of(path);
  CHECK(std::count(text.begin(), text.end(), '\n') == 3);
  CHECK(text.back() == '\n');
}

TEST_CASE("metrics: a number is written so that it reads back to itself") {
  const wam::test::TempFolder folder;
  wam::MetricsFile file(folder.path() / "m");
  const double loss = 0.1F + 1e-9;

  file.write(metrics_of(1, loss));

  CHECK(json::parse(text_of(folder.path() / "m"))["loss"].get<double>() == loss);
}

TEST_CASE("metrics: numbers that are not finite are words") {
  const wam::test::TempFolder folder;
  wam::MetricsFile file(folder.path() / "m");
  const double inf = std::numeric_limits<double>::infinity();

  wam::StepMetrics metrics = metrics_of(1, std::nan(""));
  metrics.video_loss = -inf;
  metrics.grad_norm = inf;
  metrics.skipped = true;
  metrics.samples = {"0/3/1"};
  file.write(metrics);

  const auto line = json::parse(text_of(folder.path() / "m"));
  CHECK(line["loss"] == "nan");
  CHECK(line["video_loss"] == "-inf");
  CHECK(line["grad_norm"] == "inf");
  CHECK(line["skipped"] == true);
  CHECK(line["samples"] == json({"0/3/1"}));
}

TEST_CASE("metrics: a validation is a line of its own") {
  const wam::test::TempFolder folder;
  wam::MetricsFile file(folder.path() / "m");
  wam::ValidationMetrics metrics;
  metrics.step = 5;
  metrics.windows = 2;
  metrics.action_error = 0.25;
  metrics.action_names = {"a"};
  metrics.action_error_per_dim = {0.25};
  metrics.action_error_physical = {2.5};

  file.write(metrics);
  metrics.shuffled_error = 0.5;
  file.write(metrics);

  std::istringstream lines(text_of(folder.path() / "m"));
  std::string line;
  std::getline(lines, line);
  const auto plain = json::parse(line);
  CHECK(plain["step"] == 5);
  CHECK_FALSE(plain.contains("loss"));
  CHECK(plain["validation"]["windows"] == 2);
  CHECK(plain["validation"]["action_error"] == 0.25);
  CHECK(plain["validation"]["action_error_physical"] == json({2.5}));
  CHECK_FALSE(plain["validation"].contains("shuffled_error"));
  std::getline(lines, line);
  CHECK(json::parse(line)["validation"]["shuffled_error"] == 0.5);
}

TEST_CASE("metrics: a file that cannot be opened is an error") {
  CHECK_THROWS_AS(wam::MetricsFile("/nowhere/at/all/metrics.jsonl"), wam::DeviceError);
}
