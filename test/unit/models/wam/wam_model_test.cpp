#include "models/wam/wam_model.h"

#include <algorithm>
#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>

#include "core/random/counter.h"
#include "models/wam/picture_encoding.h"
#include "parallel/strategies/sharded_units.h"
#include "test/support/catch.h"
#include "test/support/clip_plans.h"
#include "test/unit/models/wam/pooled_encoders.h"
#include "test/unit/models/wam/random_dit.h"

namespace wam::test {
namespace {

Batch batch_of(const WamConfig& c,
               const std::vector<std::uint64_t>& ordinals,
               std::int64_t scale = 1) {
  const auto one = [](const std::vector<std::int64_t>& shape, std::uint64_t key) {
    return random_tensor(shape, key);
  };
  std::vector<at::Tensor> image, state, action, text;
  Batch batch;
  for (const std::uint64_t ordinal : ordinals) {
    const std::uint64_t key = 1000 * ordinal;
    image.push_back(
        (one({1, 33, c.target_height * scale, c.target_width * scale, 3}, key) * 40 + 120)
            .clamp(0, 255)
            .to(at::kByte));
    state.push_back(one({1, 4, c.state_width}, key + 1).to(at::kFloat));
    action.push_back(
        one({1, 4 * c.actions_per_block, c.action_width}, key + 2).clamp(-1, 1).to(at::kFloat));
    text.push_back(one({1, 8, c.text_width}, key + 3).to(at::kFloat));
    batch.ordinal.push_back(ordinal);
    batch.text_length.push_back(8);
    batch.prompt.emplace_back();
    batch.id.emplace_back();
  }
  const auto n = static_cast<std::int64_t>(ordinals.size());
  if (n == 0) return batch;
  batch.image_BTHWC = at::cat(image, 0);
  batch.state_BNS = at::cat(state, 0);
  batch.action_BPA = at::cat(action, 0);
  batch.action_mask_BPA = at::ones(batch.action_BPA.sizes(), at::kBool);
  batch.action_mask_BPA.slice(2, 7).fill_(false);
  batch.has_real_action_B = at::ones({n}, at::kBool);
  batch.text_BMD = at::cat(text, 0);
  return batch;
}

struct Setup {
  explicit Setup(const std::string& preset,
                 at::ScalarType type = at::kFloat,
                 RecomputePolicy policy = RecomputePolicy::kNone)
      : config(wam_preset(preset)),
        encoders(config),
        model({.config = config, .compute_type = type, .recompute = {policy}}, encoders) {
    ShardedUnits::Options options;
    options.compute_type = type;
    options.state_type = type == at::kDouble ? at::kDouble : at::kFloat;
    units = std::make_unique<ShardedUnits>(model.units(), options);
    for (Unit& unit : units->units()) {
      at::Tensor master = unit.state("master");
      for (const TensorSpec& tensor : unit.spec().tensors) {
        model.initialise(tensor, 1, master.narrow(0, tensor.offset, tensor.numel()));
      }
    }
    // The head starts at zero, which hides the blocks from the loss.
    Unit& head = units->units().back();
    const TensorSpec& out = head.spec().tensors[head.spec().index_of("head.head.weight")];
    head.state("master")
        .narrow(0, out.offset, out.numel())
        .copy_(random_tensor({out.numel()}, 5) * 0.1);
    units->publish_weights();
  }

  WamConfig config;
  PooledEncoders encoders;
  WamModel model;
  std::unique_ptr<ShardedUnits> units;
};

// Counts the calls on a sharding and checks that weights are only used while acquired.
class Watched final : public Sharding {
 public:
  explicit Watched(ShardedUnits& inner) : inner_(inner), held_(inner.units().size(), 0) {}
  void begin_pass() override { calls.push_back("begin"); }
  void end_pass() override { calls.push_back("end"); }
  Unit& acquire(std::size_t unit_idx, Pass pass) override {
    calls.push_back("acquire " + std::to_string(unit_idx) + (pass == Pass::kForward ? "f" : "b"));
    ++held_[unit_idx];
    return inner_.acquire(unit_idx, pass);
  }
  void release(std::size_t unit_idx, Pass pass) override {
    calls.push_back("release " + std::to_string(unit_idx) + (pass == Pass::kForward ? "f" : "b"));
    --held_[unit_idx];
  }
  void gradient_complete(std::size_t unit_idx) override {
    calls.push_back("complete " + std::to_string(unit_idx));
    CHECK(held_[unit_idx] > 0);
  }
  std::vector<Unit>& units() override { return inner_.units(); }
  void begin_step() override {}
  void begin_micro_step(bool /*last*/) override {}
  at::Tensor shard_gradient(std::size_t unit_idx) override {
    return inner_.shard_gradient(unit_idx);
  }
  void sum_over_shards(at::Tensor& /*per_unit*/) override {}
  void sum_over_ranks(at::Tensor& /*values*/) override {}
  at::Tensor shard_compute(std::size_t unit_idx) override { return inner_.shard_compute(unit_idx); }
  at::Tensor take_waits() override { return inner_.take_waits(); }
  void share_weights() override {}
  [[nodiscard]] bool all_released() const {
    return std::all_of(held_.begin(), held_.end(), [](int n) { return n == 0; });
  }

  std::vector<std::string> calls;

 private:
  ShardedUnits& inner_;
  std::vector<int> held_;
};

// Whoever asks them fails the test.
struct NoEncoders : FrozenEncoders {
  at::Tensor encode_video(const at::Tensor& video) override { return asked(video); }
  at::Tensor clip_features(const at::Tensor& image) override { return asked(image); }
  static at::Tensor asked(const at::Tensor& x) {
    FAIL("an encoder was asked");
    return x;
  }
};

}  // namespace

TEST_CASE("The loss of a micro-batch is the sum of the losses of its samples") {
  for (const std::string preset : {"tiny-5b", "tiny-14b"}) {
    Setup s(preset, at::kDouble);
    const Losses together = s.model.train(batch_of(s.config, {3, 4, 9}), *s.units, 11, 0.25);
    const at::Tensor gradient = s.units->shard_gradient(1).clone();
    s.units->begin_step();
    at::Tensor video = together.video * 0;
    at::Tensor action = together.action * 0;
    for (const std::uint64_t ordinal : std::vector<std::uint64_t>{3, 4, 9}) {
      const Losses one = s.model.train(batch_of(s.config, {ordinal}), *s.units, 11, 0.25);
      video = video + one.video;
      action = action + one.action;
    }
    INFO(preset);
    CHECK(relative_error(video, together.video) < 1e-12);
    CHECK(relative_error(action, together.action) < 1e-12);
    CHECK(relative_error(video + action, together.loss) < 1e-12);
    CHECK(gradient.abs().max().item<double>() > 0);
    CHECK(relative_error(s.units->shard_gradient(1), gradient) < 1e-10);
  }
}

TEST_CASE("Pictures that come encoded give the bits of those that are encoded live, unasked") {
  for (const std::string preset : {"tiny-5b", "tiny-14b"}) {
    Setup s(preset);
    const Batch live = batch_of(s.config, {3, 4});
    Batch cached = live;
    cached.image_BTHWC = at::Tensor();
    cached.encoded = encode_pictures(live, s.encoders, {.config = s.config, .type = at::kFloat});
    CHECK(cached.encoded->still_BCFYX.defined() == (preset == "tiny-14b"));
    NoEncoders none;
    WamModel model({.config = s.config, .compute_type = at::kFloat, .recompute = {}}, none);

    const Losses expected = s.model.train(live, *s.units, 11, 0.5);
    const at::Tensor gradient = s.units->shard_gradient(1).clone();
    s.units->begin_step();
    const Losses found = model.train(cached, *s.units, 11, 0.5);

    INFO(preset);
    CHECK(at::equal(found.loss, expected.loss));
    CHECK(at::equal(s.units->shard_gradient(1), gradient));
    CHECK(at::equal(model.predict(cached, *s.units, 1, 2).action_BPA,
                    s.model.predict(live, *s.units, 1, 2).action_BPA));
  }
}

TEST_CASE("A sample without real actions has no action loss, whatever its neighbours") {
  Setup s("tiny-5b", at::kDouble);
  Batch batch = batch_of(s.config, {3, 4});
  const Losses both = s.model.evaluate(batch, *s.units, 1);
  batch.has_real_action_B[1].fill_(false);
  const Losses first = s.model.evaluate(batch, *s.units, 1);
  const Losses alone = s.model.evaluate(batch_of(s.config, {3}), *s.units, 1);
  CHECK(relative_error(first.video, both.video) == 0.0);
  CHECK(relative_error(first.action, alone.action) < 1e-12);
  CHECK(first.action.item<double>() < both.action.item<double>());
}

TEST_CASE("Padded action values have no part in the loss") {
  Setup s("tiny-5b", at::kDouble);
  Batch batch = batch_of(s.config, {3});
  const Losses before = s.model.evaluate(batch, *s.units, 1);
  batch.action_mask_BPA.slice(2, 7).fill_(true);
  CHECK(s.model.evaluate(batch, *s.units, 1).action.item<double>() > before.action.item<double>());
}

TEST_CASE("Training and evaluation see the same losses and draws follow the seed") {
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    Setup s("tiny-5b", type);
    const Batch batch = batch_of(s.config, {1, 2});
    const Losses trained = s.model.train(batch, *s.units, 5, 1.0);
    const Losses evaluated = s.model.evaluate(batch, *s.units, 5);
    CHECK(at::equal(trained.loss, evaluated.loss));
    CHECK(trained.loss.scalar_type() == at::kFloat);
    CHECK(std::isfinite(trained.loss.item<double>()));
    CHECK_FALSE(at::equal(s.model.evaluate(batch, *s.units, 6).loss, evaluated.loss));
  }
}

TEST_CASE("i2v encodes the clip and the first frame, ti2v the clip alone") {
  Setup five("tiny-5b");
  static_cast<void>(five.model.encode(batch_of(five.config, {1})));
  CHECK(five.encoders.videos == 1);
  Setup fourteen("tiny-14b");
  const EncodedBatch encoded = fourteen.model.encode(batch_of(fourteen.config, {1}));
  CHECK(fourteen.encoders.videos == 2);
  // The second video is the first frame and then grey.
  CHECK(fourteen.encoders.seen.slice(2, 1).abs().max().item<double>() == 0.0);
  CHECK(fourteen.encoders.seen.select(2, 0).abs().max().item<double>() > 0.0);
  CHECK(encoded.condition_BCFYX.sizes() == at::IntArrayRef{1, 20, 9, 8, 16});
  CHECK(encoded.condition_BCFYX.narrow(1, 0, 4).select(2, 0).min().item<double>() == 1.0);
  CHECK(encoded.condition_BCFYX.narrow(1, 0, 4).slice(2, 1).abs().max().item<double>() == 0.0);
  CHECK(at::equal(encoded.condition_BCFYX.slice(1, 4).select(2, 0),
                  encoded.latent_BCFYX.select(2, 0)));
}

TEST_CASE("Pictures are scaled to [-1, 1] and resized to the model's target") {
  Setup s("tiny-5b");
  Batch batch = batch_of(s.config, {1}, /*scale=*/2);
  static_cast<void>(s.model.encode(batch));
  CHECK(s.encoders.seen.sizes() == at::IntArrayRef{1, 3, 33, 64, 128});
  // At half size every bilinear pixel is the mean of a 2x2 square.
  const at::Tensor expected =
      at::avg_pool2d(batch.image_BTHWC[0].permute({0, 3, 1, 2}).to(at::kFloat), 2) / 127.5 - 1;
  CHECK((s.encoders.seen[0].transpose(0, 1) - expected).abs().max().item<double>() < 1e-5);
}

TEST_CASE("Pictures as recorded are transformed before they are encoded") {
  Setup s("tiny-5b");
  Batch batch = batch_of(s.config, {1, 2});
  static_cast<void>(s.model.encode(batch));
  const at::Tensor expected = s.encoders.seen.clone();
  const std::int64_t height = batch.image_BTHWC.size(2);
  const std::int64_t width = batch.image_BTHWC.size(3);
  const auto plan = std::make_shared<const ClipPlan>(
      test::one_view({height, width, height, width, height, width}));
  batch.raw.emplace();
  batch.raw->frames = batch.image_BTHWC.size(1);
  batch.raw->bytes_BN = batch.image_BTHWC.flatten(1);
  batch.raw->clips = {{plan, {}}, {plan, {}}};
  batch.image_BTHWC = at::Tensor();

  static_cast<void>(s.model.encode(batch));

  CHECK(at::equal(s.encoders.seen, expected));
}

TEST_CASE("Predictions are actions in range and a latent, a function of seed and ordinal") {
  Setup s("tiny-5b");
  const Prediction two = s.model.predict(batch_of(s.config, {1, 2}), *s.units, 5, 3);
  const Prediction one = s.model.predict(batch_of(s.config, {2}), *s.units, 5, 3);
  CHECK(two.action_BPA.sizes() == at::IntArrayRef{2, 32, 32});
  CHECK(two.latent_BCFYX.sizes() == at::IntArrayRef{2, 48, 9, 4, 8});
  CHECK(two.action_BPA.abs().max().item<double>() <= 1.0);
  CHECK(relative_error(one.action_BPA[0], two.action_BPA[1]) < 1e-4);
  CHECK(relative_error(one.latent_BCFYX[0], two.latent_BCFYX[1]) < 1e-4);
}

TEST_CASE("Sampling noise levels go from one to zero on the shifted schedule") {
  const auto sigma = sampling_sigmas(4);
  REQUIRE(sigma.size() == 5);
  CHECK(sigma.front() == 1.0);
  CHECK(sigma.back() == 0.0);
  CHECK(sigma[2] == Approx(5 * 0.5 / 3));
}

TEST_CASE("Draws of a sample are those of its own streams, whatever else is in the batch") {
  const std::vector<std::uint64_t> ordinals = {7, 3};
  const Draws draws = make_draws(5, ordinals, {48, 9, 11, 9}, {32, 32}, at::kCPU);

  for (std::size_t b = 0; b < ordinals.size(); ++b) {
    const auto at_b = static_cast<std::int64_t>(b);
    at::Tensor video = at::empty({48, 9, 11, 9}, at::kFloat);  // of more than one piece
    CounterStream(5, Purpose::kVideoNoise, ordinals[b])
        .normals(video.mutable_data_ptr<float>(), video.numel());
    at::Tensor action = at::empty({32, 32}, at::kFloat);
    CounterStream(5, Purpose::kActionNoise, ordinals[b])
        .normals(action.mutable_data_ptr<float>(), action.numel());
    CHECK(at::equal(draws.noise_BCFYX[at_b], video));
    CHECK(at::equal(draws.noise_BPA[at_b], action));
    const CounterStream levels(5, Purpose::kTimestep, ordinals[b]);
    REQUIRE(draws.level_BR.size(1) == 5);
    for (std::int64_t i = 0; i < 5; ++i) {
      CHECK(draws.level_BR[at_b][i].item<std::int64_t>() ==
            static_cast<std::int64_t>(
                levels.below(FlowSchedule::kSteps, static_cast<std::uint64_t>(i))));
    }
  }
}

TEST_CASE("One Euler step from noise subtracts the velocity at timestep 1000") {
  Setup s("tiny-5b", at::kDouble);
  const Batch batch = batch_of(s.config, {6});
  const Prediction found = s.model.predict(batch, *s.units, 5, 1);

  const EncodedBatch encoded = s.model.encode(batch);
  const Draws draws = make_draws(5, {6}, {48, 9, 4, 8}, {32, 32}, at::kCPU);
  Mixed noise;
  noise.noisy_BCFYX = draws.noise_BCFYX.to(at::kDouble);
  noise.noisy_BPA = draws.noise_BPA.to(at::kDouble);
  noise.video_timestep_BR = at::full({1, 5}, 1000.0, at::kFloat);
  const auto forward =
      s.model.dit().forward(dit_input(encoded, noise, at::kDouble), *s.units, Leaves::Track::kNo);
  forward->finish();
  const DitOutput& velocity = forward->output;
  CHECK(relative_error(found.latent_BCFYX, noise.noisy_BCFYX - velocity.video_BCFYX) < 1e-14);
  CHECK(relative_error(found.action_BPA, (noise.noisy_BPA - velocity.action_BPA).clamp(-1, 1)) <
        1e-14);
}

TEST_CASE("An empty micro-batch makes the calls of a full one and adds nothing") {
  for (const auto& [policy, name] : EnumNames<RecomputePolicy>::table) {
    Setup s("tiny-5b", at::kFloat, policy);
    Watched full(*s.units);
    Watched empty(*s.units);
    s.model.train(batch_of(s.config, {1}), full, 5, 1.0);
    s.units->begin_step();
    const Losses nothing = s.model.train(batch_of(s.config, {}), empty, 5, 1.0);
    CHECK(full.calls == empty.calls);
    CHECK(full.all_released());
    CHECK(empty.all_released());
    CHECK(full.calls.front() == "begin");
    CHECK(full.calls.back() == "end");
    CHECK(nothing.loss.item<double>() == 0.0);
    for (std::size_t i = 0; i < s.units->units().size(); ++i) {
      CHECK(s.units->shard_gradient(i).abs().max().item<double>() == 0.0);
    }
    Watched full_evaluation(*s.units);
    Watched empty_evaluation(*s.units);
    s.model.evaluate(batch_of(s.config, {1}), full_evaluation, 5);
    s.model.evaluate(batch_of(s.config, {}), empty_evaluation, 5);
    CHECK(full_evaluation.calls == empty_evaluation.calls);
    CHECK(full_evaluation.all_released());
  }
}

}  // namespace wam::test
