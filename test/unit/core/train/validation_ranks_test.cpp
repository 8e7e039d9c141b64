#include <deque>
#include <fstream>

// Before catch.h, whose macros they have too.
#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>

#include <nlohmann/json.hpp>

#include "core/base/errors.h"
#include "parallel/strategies/sharded_units.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"
#include "test/support/thread_ranks.h"
#include "test/unit/core/train/fake_windows.h"

// Windows are spread over ranks, which are threads here.

using wam::ValidationMetrics;
using wam::Validator;
using wam::test::collate_windows;
using wam::test::FakeWindows;
using wam::test::kSamplerSteps;
using wam::test::WindowModel;

namespace {

struct Ranks {
  std::vector<ValidationMetrics> metrics;
  std::deque<WindowModel> models;
  std::vector<std::vector<std::string>> calls;  // of collectives
  nlohmann::json kept;
};

Ranks validate(int world, std::int64_t windows) {
  const wam::test::TempFolder folder;
  Ranks out;
  out.metrics.resize(static_cast<std::size_t>(world));
  out.calls.resize(static_cast<std::size_t>(world));
  for (int rank = 0; rank < world; ++rank) out.models.emplace_back();
  wam::test::ThreadAxis axis(world);
  wam::test::run_ranks(world, [&](int rank) {
    const auto i = static_cast<std::size_t>(rank);
    const FakeWindows data(2 * static_cast<std::uint64_t>(windows));
    wam::ShardedUnits sharding(
        out.models[i].units(),
        {.axes = {.world = axis.connect(rank, out.calls[i]), .shards = {}, .replicas = {}}});
    const Validator validator(data, collate_windows,
                              {.windows = windows,
                               .sampling_steps = kSamplerSteps,
                               .micro_batch = 2,
                               .shuffled = true,
                               .windows_kept = 3,
                               .rank = rank,
                               .world = world});
    wam::invariant(validator.windows() == windows, "windows of all ranks");
    out.metrics[i] = validator.run(out.models[i], sharding, 7,
                                   rank == 0 ? folder.path() : std::filesystem::path());
  });
  std::ifstream in(folder.path() / "validation" / "step_00000007.json");
  out.kept = nlohmann::json::parse(in);
  return out;
}

}  // namespace

TEST_CASE("validation: any number of ranks gets the figures of one, on every rank") {
  for (const std::int64_t windows : {7, 2}) {
    const Ranks one = validate(1, windows);
    for (const int world : {2, 3, 4}) {
      const Ranks many = validate(world, windows);
      INFO(windows << " windows on " << world << " ranks");
      for (const auto& found : many.metrics) {
        const auto& expected = one.metrics[0];
        CHECK(found.windows == windows);
        CHECK(found.video_loss == Approx(expected.video_loss).epsilon(1e-12));
        CHECK(found.action_loss == Approx(expected.action_loss).epsilon(1e-12));
        CHECK(found.action_error == Approx(expected.action_error).epsilon(1e-12));
        CHECK(found.mean_action_error == Approx(expected.mean_action_error).epsilon(1e-12));
        CHECK(*found.shuffled_error == Approx(*expected.shuffled_error).epsilon(1e-12));
        CHECK(found.action_names == expected.action_names);
        REQUIRE(found.action_error_per_dim.size() == expected.action_error_per_dim.size());
        REQUIRE(found.action_error_physical.size() == expected.action_error_physical.size());
        for (std::size_t a = 0; a < found.action_error_physical.size(); ++a) {
          CHECK(found.action_error_per_dim[a] ==
                Approx(expected.action_error_per_dim[a]).margin(1e-12));
          CHECK(found.action_error_physical[a] ==
                Approx(expected.action_error_physical[a]).margin(1e-12));
        }
      }
      // Windows, their order, truth and predictions: the file does not tell how many ranks there
      // were.
      CHECK(many.kept == one.kept);
    }
  }
}

TEST_CASE("validation: every rank calls the model equally often, with its own windows") {
  const Ranks many = validate(3, 7);
  using Sizes = std::vector<std::int64_t>;
  CHECK(many.models[0].sizes == Sizes{2, 1});
  CHECK(many.models[1].sizes == Sizes{2, 0});
  CHECK(many.models[2].sizes == Sizes{2, 0});
  for (const auto& model : many.models) CHECK(model.predictions == 4);  // half of them shuffled

  // Two sums, whatever the number of windows.
  for (const auto& calls : many.calls) CHECK(calls.size() == 2);

  const Ranks few = validate(4, 2);
  CHECK(few.models[1].sizes == Sizes{1});
  CHECK(few.models[3].sizes == Sizes{0});
}
