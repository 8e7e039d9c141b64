#include "apps/wamtrain/bench/profiler.h"

#include <fstream>
#include <stdexcept>

#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>

#include <nlohmann/json.hpp>

#include "test/support/catch.h"
#include "test/support/temp_folder.h"

TEST_CASE("profiler: operations on the CPU with their own time, and a trace") {
  const wam::test::TempFolder folder;
  const at::Tensor x = at::ones({64, 64});

  const auto timeline = wam::profiled(c10::kCPU, folder.path() / "trace.json", [&] {
    for (int i = 0; i < 5; ++i) at::mm(x, x);
  });

  const auto kernels = timeline.kernels(5);
  const auto mm = std::find_if(kernels.begin(), kernels.end(),
                               [](const auto& line) { return line.name == "aten::mm"; });
  REQUIRE(mm != kernels.end());
  CHECK(mm->launches == Approx(1));
  CHECK(mm->ms > 0);
  for (const auto& event : timeline.events) CHECK(event.end_ns >= event.start_ns);
  std::ifstream trace(folder.path() / "trace.json");
  CHECK_FALSE(nlohmann::json::parse(trace)["traceEvents"].empty());
}

TEST_CASE("profiler: an error of the work comes through, and the next profile is its own") {
  CHECK_THROWS_WITH(wam::profiled(c10::kCPU, "", [] { throw std::runtime_error("work"); }), "work");

  const auto timeline = wam::profiled(c10::kCPU, "", [] { at::ones({3}); });

  CHECK_FALSE(timeline.events.empty());
  CHECK(timeline.ms_by_class().count(wam::KernelClass::kMatrix) == 0);
}
