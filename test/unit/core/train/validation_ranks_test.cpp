#include <barrier>
#include <deque>
#include <fstream>
#include <thread>

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>

#include <nlohmann/json.hpp>

#include "core/base/errors.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"
#include "test/unit/core/train/fake_windows.h"

// Windows are spread over ranks, which are threads here.

using wam::ValidationMetrics;
using wam::Validator;
using wam::test::collate_windows;
using wam::test::FakeWindows;
using wam::test::kSamplerSteps;
using wam::test::WindowModel;

namespace {

// Where ranks add tensors up.
class Meeting {
 public:
  explicit Meeting(int ranks) : parts_(static_cast<std::size_t>(ranks)), barrier_(ranks) {}

  void sum(int rank, at::Tensor& values) {
    wam::invariant(values.scalar_type() == at::kDouble, "sums in float64");
    parts_[static_cast<std::size_t>(rank)] = values.clone();
    barrier_.arrive_and_wait();
    values.zero_();
    for (const auto& part : parts_) values += part;
    barrier_.arrive_and_wait();
  }

 private:
  std::vector<at::Tensor> parts_;
  std::barrier<> barrier_;
};

// Sums of metrics, and nothing else.
class SumsOnly : public wam::Sharding {
 public:
  SumsOnly(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}
  void begin_pass() override {}
  void end_pass() override {}
  wam::Unit& acquire(std::size_t /*unit*/, wam::Pass /*pass*/) override { return units_.at(0); }
  void release(std::size_t /*unit*/, wam::Pass /*pass*/) override {}
  void gradient_complete(std::size_t /*unit*/) override {}
  std::vector<wam::Unit>& units() override { return units_; }
  void begin_step() override {}
  void begin_micro_step(bool /*last*/) override {}
  at::Tensor shard_gradient(std::size_t /*unit*/) override { return {}; }
  at::Tensor shard_compute(std::size_t /*unit*/) override { return {}; }
  void sum_over_shards(at::Tensor& /*values*/) override {}
  void sum_over_ranks(at::Tensor& values) override { meeting_.sum(rank_, values); }
  void share_weights() override {}

 private:
  Meeting& meeting_;
  int rank_;
  std::vector<wam::Unit> units_;
};

struct Ranks {
  std::vector<ValidationMetrics> metrics;
  std::deque<WindowModel> models;
  nlohmann::json kept;
};

Ranks validate(int world, std::int64_t windows) {
  const wam::test::TempFolder folder;
  Ranks out;
  out.metrics.resize(static_cast<std::size_t>(world));
  for (int rank = 0; rank < world; ++rank) out.models.emplace_back();
  Meeting meeting(world);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < world; ++rank) {
    ranks.emplace_back([&, rank] {
      const FakeWindows data(2 * static_cast<std::uint64_t>(windows));
      SumsOnly sharding(meeting, rank);
      const Validator validator(data, collate_windows,
                                {.windows = windows,
                                 .sampling_steps = kSamplerSteps,
                                 .micro_batch = 2,
                                 .shuffled = true,
                                 .windows_kept = 3,
                                 .rank = rank,
                                 .world = world});
      wam::invariant(validator.windows() == windows, "windows of all ranks");
      const auto i = static_cast<std::size_t>(rank);
      out.metrics[i] = validator.run(out.models[i], sharding, 7,
                                     rank == 0 ? folder.path() : std::filesystem::path());
    });
  }
  for (auto& rank : ranks) rank.join();
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

  const Ranks few = validate(4, 2);
  CHECK(few.models[1].sizes == Sizes{1});
  CHECK(few.models[3].sizes == Sizes{0});
}
