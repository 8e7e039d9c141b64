// What the next actions follow from, measured without the model: regressions with one hidden layer
// from parts of what a model sees to the actions of a block, relative to the state at its start.

#include <array>
#include <cstdio>
#include <functional>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/linalg_solve.h>
#include <ATen/ops/ones.h>

#include "core/random/counter.h"
#include "data/sample_world/episode.h"
#include "data/sample_world/sample_world.h"
#include "test/support/catch.h"

namespace wam::sample_world {
namespace {

constexpr std::int64_t kTrainEpisodes = 400;
constexpr std::int64_t kTestEpisodes = 100;
constexpr std::int64_t kBlockFrames = 8;

// Inputs of one block of actions.
struct Moment {
  const Episode& episode;
  const Episode& other;  // another episode, for shuffled inputs
  std::size_t frame;
};
using Inputs = std::function<void(std::vector<double>&, const Moment&)>;

void add_state(std::vector<double>& row, const Moment& moment) {
  for (const float angle : moment.episode.state[moment.frame]) row.push_back(angle);
}

void add_place(std::vector<double>& row, const Scene& scene, int colour) {
  const Point place = scene.block[static_cast<std::size_t>(colour)];
  row.insert(row.end(), {place.x, place.y});
}

at::Tensor to_tensor(const std::vector<double>& values, std::int64_t rows) {
  const auto width = static_cast<std::int64_t>(values.size()) / rows;
  at::Tensor out = at::empty({rows, width}, at::kDouble);
  std::copy(values.begin(), values.end(), out.mutable_data_ptr<double>());
  return out;
}

struct Samples {
  at::Tensor input;
  at::Tensor action;
};

Samples collect(const std::vector<Episode>& episodes, const Inputs& inputs) {
  std::vector<double> rows;
  std::vector<double> actions;
  std::int64_t count = 0;
  for (std::size_t e = 0; e < episodes.size(); ++e) {
    const Episode& episode = episodes[e];
    for (std::size_t frame = 0; frame + kBlockFrames <= episode.state.size(); ++frame, ++count) {
      inputs(rows, {episode, episodes[(e + 1) % episodes.size()], frame});
      for (std::size_t j = 0; j < kBlockFrames; ++j) {
        for (std::size_t d = 0; d < kJoints; ++d) {
          actions.push_back(episode.action[frame + j][d] - episode.state[frame][d]);
        }
      }
    }
  }
  return {to_tensor(rows, count), to_tensor(actions, count)};
}

// Standardised inputs through fixed random tanh units; the last layer is a ridge regression.
class Regression {
 public:
  explicit Regression(const Samples& train)
      : mean_(train.input.mean(0)), scale_(train.input.std(0) + 1e-9) {
    constexpr std::int64_t kUnits = 300;
    constexpr double kRidge = 1e-3;
    const std::int64_t width = train.input.size(1);
    at::Tensor weight = at::empty({width + 1, kUnits}, at::kFloat);
    CounterStream(7, Purpose::kInitialise, 0)
        .normals(weight.mutable_data_ptr<float>(), weight.numel());
    weight_ = weight.to(at::kDouble);
    const at::Tensor hidden = units(train.input);
    const at::Tensor square = hidden.t().matmul(hidden) + at::eye(kUnits, at::kDouble) * kRidge;
    last_ = at::linalg_solve(square, hidden.t().matmul(train.action));
  }
  [[nodiscard]] at::Tensor operator()(const at::Tensor& input) const {
    return units(input).matmul(last_);
  }

 private:
  [[nodiscard]] at::Tensor units(const at::Tensor& input) const {
    const at::Tensor one = at::ones({input.size(0), 1}, at::kDouble);
    return at::cat({(input - mean_) / scale_, one}, 1).matmul(weight_).tanh();
  }

  at::Tensor mean_, scale_, weight_, last_;
};

std::vector<Episode> episodes_of(std::int64_t first, std::int64_t count) {
  const double home_share = SampleWorldOptions{}.home_share;
  std::vector<Episode> out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(simulate(3, first + i, home_share));
  return out;
}

// Mean absolute error on episodes that were not fitted, as a share of what the mean action gets.
double error_share(const char* what, const Inputs& inputs) {
  static const auto train = episodes_of(0, kTrainEpisodes);
  static const auto test = episodes_of(kTrainEpisodes, kTestEpisodes);
  const Samples fitted = collect(train, inputs);
  const Samples unseen = collect(test, inputs);

  const at::Tensor error = Regression(fitted)(unseen.input) - unseen.action;
  const at::Tensor baseline = fitted.action.mean(0) - unseen.action;

  const double share = error.abs().mean().item<double>() / baseline.abs().mean().item<double>();
  std::printf("error with %s: %.3f of the mean action's\n", what, share);
  return share;
}

}  // namespace

TEST_CASE("Sample world: state and the place of the named block determine the actions") {
  const double share = error_share("state and named place", [](auto& row, const Moment& moment) {
    add_state(row, moment);
    add_place(row, moment.episode.scene, moment.episode.scene.named);
  });
  CHECK(share < 0.2);
}

TEST_CASE("Sample world: the state alone tells little about the actions") {
  CHECK(error_share("state", add_state) > 0.78);
}

TEST_CASE("Sample world: the places of another episode do not help") {
  const double share = error_share("shuffled place", [](auto& row, const Moment& moment) {
    add_state(row, moment);
    add_place(row, moment.other.scene, moment.other.scene.named);
  });
  CHECK(share > 0.8);
}

TEST_CASE("Sample world: pictures without the prompt tell little about the actions") {
  const double share = error_share("all places, no prompt", [](auto& row, const Moment& moment) {
    add_state(row, moment);
    for (int colour = 0; colour < kBlocks; ++colour) {
      add_place(row, moment.episode.scene, colour);
    }
  });
  CHECK(share > 0.75);
}

TEST_CASE("Sample world: the prompt without pictures tells a part, and only a part") {
  const double share = error_share("prompt, no pictures", [](auto& row, const Moment& moment) {
    add_state(row, moment);
    for (int colour = 0; colour < kBlocks; ++colour) {
      row.push_back(moment.episode.scene.named == colour ? 1.0 : 0.0);
    }
  });
  CHECK(share > 0.4);
  CHECK(share < 0.65);
}

}  // namespace wam::sample_world
