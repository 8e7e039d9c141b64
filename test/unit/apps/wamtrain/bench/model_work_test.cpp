#include "apps/wamtrain/bench/model_work.h"

#include "models/wam/flops.h"
#include "test/support/catch.h"

using wam::KernelClass;
using wam::MicroBatchShape;
using wam::model_work;
using wam::RecomputePolicy;
using wam::wam_preset;

namespace {

// Latent pictures of 4 x 4: 4 tokens a frame, one block of two frames, 8 actions, a state.
wam::WamConfig two_layers() {
  wam::WamConfig c = wam_preset("tiny-5b");
  c.layers = 2;
  c.max_blocks = 1;
  c.target_height = 4 * c.vae_stride;
  c.target_width = 4 * c.vae_stride;
  c.actions_per_block = 8;
  return c;
}

}  // namespace

TEST_CASE("model work: the presets count a fixed number of operations") {
  CHECK(model_work(wam_preset("5b"), {.samples = 8}, {}).flops == Approx(8 * 29.4e12));
  CHECK(model_work(wam_preset("14b"), {.samples = 1}, {}).flops == Approx(1374e12));
  // It is what the model counts, nearly.
  for (const char* preset : {"5b", "14b"}) {
    const auto work = model_work(wam_preset(preset), {}, {});
    CHECK(work.is_fixed);
    CHECK(work.flops == Approx(training_flops(wam_preset(preset), 4)).epsilon(0.02));
    CHECK(work.attention_flops < 0.3 * work.flops);
  }
}

TEST_CASE("model work: another geometry and shorter text are counted") {
  auto config = wam_preset("5b");
  const auto shorter = model_work(config, {.text_rows = 64}, {});
  CHECK_FALSE(shorter.is_fixed);
  config.text_length = 65;  // and the row of zeros
  CHECK(shorter.flops == Approx(training_flops(config, 4)));
  config = wam_preset("5b");
  config.layers = 10;
  CHECK(model_work(config, {.samples = 3}, {}).flops == Approx(3 * training_flops(config, 4)));
}

TEST_CASE("model work: bytes of the norms and of GELU by hand") {
  const auto c = two_layers();
  // Clean 12, noisy 12 + 8 actions, 1 state; of the last block the noisy 20 come out.
  const double tokens = 33;
  const double results = 20;
  const MicroBatchShape shape{.samples = 3, .blocks = 1, .compute_type = c10::kFloat};
  const double row = 3.0 * 4 * static_cast<double>(c.width);
  const double wide_row = 3.0 * 4 * static_cast<double>(c.ffn_width);

  auto bytes = model_work(c, shape, {}).bytes;
  CHECK(bytes[KernelClass::kGelu] == Approx(5 * wide_row * (tokens + results)));
  // Three norms a block: one of all tokens, two of those that come out. 2 tensors forward, 4 back.
  CHECK(bytes[KernelClass::kNorm] == Approx(6 * row * (3 * tokens + tokens + 2 * results)));
  CHECK(bytes[KernelClass::kGatedResidual] == Approx(12 * row * (tokens + results)));

  auto again = model_work(c, shape, {.policy = RecomputePolicy::kFull}).bytes;
  CHECK(again[KernelClass::kGelu] == Approx(7 * wide_row * (tokens + results)));
  CHECK(again[KernelClass::kNorm] == Approx(8 * row * (3 * tokens + tokens + 2 * results)));
  CHECK(again[KernelClass::kGatedResidual] == Approx(15 * row * (tokens + results)));
  CHECK(again[KernelClass::kColumnSum] == Approx(bytes[KernelClass::kColumnSum]));

  auto first = model_work(c, shape, {.first_blocks = 1}).bytes;
  CHECK(first[KernelClass::kGelu] == Approx(wide_row * (7 * tokens + 5 * results)));
}
