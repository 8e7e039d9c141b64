// Values that the public reference modules give for a tiny model whose parameters and inputs come
// from a formula (float32, exact softmax; DreamZero @ ab790c1).

#include <algorithm>
#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>

#include "test/support/catch.h"
#include "test/unit/models/wam/random_dit.h"

namespace wam::test {
namespace {

std::uint64_t splitmix64(std::uint64_t x) {
  std::uint64_t z = x + 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

at::Tensor fill(const std::vector<std::int64_t>& shape,
                std::uint64_t number,
                double amplitude,
                double offset) {
  at::Tensor out = at::empty(shape, at::kFloat);
  auto* values = out.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < out.numel(); ++i) {
    const std::uint64_t word = splitmix64((number << 32) + static_cast<std::uint64_t>(i)) >> 11;
    values[i] =
        static_cast<float>(offset + amplitude * (2 * (static_cast<double>(word) * 0x1p-53) - 1));
  }
  return out;
}

WamConfig appendix_config(ModelType type) {
  WamConfig c;
  c.type = type;
  c.width = 64;
  c.layers = 2;
  c.heads = 2;
  c.ffn_width = 96;
  c.latent_channels = type == ModelType::kI2v ? 16 : 48;
  c.frequency_width = 32;
  c.text_length = 7;
  c.text_width = 20;
  c.hidden_width = 16;
  c.action_width = 5;
  c.state_width = 10;
  c.actions_per_block = 3;
  return c;
}

bool has_offset_one(const std::string& name) {
  return name.ends_with("norm_q.weight") || name.ends_with("norm_k.weight") ||
         name.ends_with("norm_k_img.weight") || name.ends_with("norm3.weight") ||
         name == "img_emb.proj.0.weight" || name == "img_emb.proj.4.weight";
}

std::unique_ptr<ShardedUnits> appendix_units(const Dit& dit, std::int64_t expected_parameters) {
  std::vector<std::string> names;
  for (const UnitSpec& unit : dit.units()) {
    for (const TensorSpec& tensor : unit.tensors) names.push_back(tensor.name);
  }
  std::sort(names.begin(), names.end());
  REQUIRE(names.at(0) == "action_decoder.layer1.W");
  REQUIRE(names.at(75) == "head.head.weight");
  REQUIRE(names.at(100) == "time_projection.1.weight");
  auto out = std::make_unique<ShardedUnits>(dit.units(), ShardedUnits::Options{});
  std::int64_t parameters = 0;
  for (Unit& unit : out->units()) {
    for (std::size_t i = 0; i < unit.spec().tensors.size(); ++i) {
      const TensorSpec& tensor = unit.spec().tensors[i];
      const auto rank = std::lower_bound(names.begin(), names.end(), tensor.name) - names.begin();
      unit.weight(i).copy_(fill(tensor.shape, static_cast<std::uint64_t>(rank) + 1, 0.3,
                                has_offset_one(tensor.name) ? 1.0 : 0.0));
      parameters += tensor.numel();
    }
  }
  REQUIRE(parameters == expected_parameters);
  return out;
}

struct Case {
  ModelType type;
  std::int64_t samples, frames, rows, columns, parameters;
  std::vector<std::int64_t> levels;
  double video_sum, video_squares, action_sum, action_squares;
  std::vector<double> video_ends, action_ends;  // first four, last four
  double video_loss, action_loss, gradient_norm;
  std::vector<std::pair<std::string, double>> gradient_norms;
};

struct Setting {
  EncodedBatch batch;
  Draws draws;
};

Setting setting_for(const Case& c, const WamConfig& config) {
  const std::int64_t blocks = (c.frames - 1) / 2;
  const std::vector<std::int64_t> latent = {c.samples, config.latent_channels, c.frames, c.rows,
                                            c.columns};
  const auto input = [](const std::vector<std::int64_t>& shape, std::uint64_t number) {
    return fill(shape, number, 1.0, 0.0);
  };
  Setting s;
  s.batch.latent_BCFYX = input(latent, 1001);
  s.draws.noise_BCFYX = input(latent, 1002);
  if (config.type == ModelType::kI2v) {
    s.batch.condition_BCFYX =
        input({c.samples, config.latent_channels + 4, c.frames, c.rows, c.columns}, 1003);
  }
  s.batch.text_BMD = input({c.samples, 7, 20}, 1004);
  s.batch.clip_BMD = input({c.samples, 257, 1280}, 1005);
  s.batch.action_BPA = input({c.samples, 3 * blocks, 5}, 1006);
  s.draws.noise_BPA = input({c.samples, 3 * blocks, 5}, 1007);
  s.batch.state_BNS = input({c.samples, blocks, 10}, 1008);
  s.batch.action_mask_BPA = at::ones({c.samples, 3 * blocks, 5}, at::kBool);
  s.batch.action_mask_BPA.select(2, 4).fill_(false);
  s.batch.has_real_action_B = at::ones({c.samples}, at::kBool);
  s.draws.level_BR = at::tensor(c.levels, at::kLong).view({c.samples, 1 + blocks});
  return s;
}

void check_values(const at::Tensor& found,
                  double sum,
                  double squares,
                  const std::vector<double>& ends) {
  const at::Tensor flat = found.detach().to(at::kDouble).flatten();
  // The sum of values that cancel: relative to their norm.
  CHECK(std::abs(flat.sum().item<double>() - sum) <
        1e-4 * std::max(std::abs(sum), std::sqrt(squares)));
  CHECK(flat.square().sum().item<double>() == Approx(squares).epsilon(1e-4));
  for (std::int64_t i = 0; i < 4; ++i) {
    CHECK(std::abs(flat[i].item<double>() - ends[static_cast<std::size_t>(i)]) < 2e-4);
    CHECK(std::abs(flat[flat.numel() - 4 + i].item<double>() -
                   ends[static_cast<std::size_t>(4 + i)]) < 2e-4);
  }
}

void check_gradient_norms(const Case& c, ShardedUnits& units) {
  double squares = 0;
  for (const Unit& unit : units.units()) {
    for (std::size_t i = 0; i < unit.spec().tensors.size(); ++i) {
      const double norm = unit.weight_gradient(i).to(at::kDouble).norm().item<double>();
      squares += norm * norm;
      for (const auto& [name, expected] : c.gradient_norms) {
        INFO(name);
        if (name == unit.spec().tensors[i].name) CHECK(norm == Approx(expected).epsilon(1e-4));
      }
    }
  }
  CHECK(std::sqrt(squares) == Approx(c.gradient_norm).epsilon(1e-4));
}

void check_case(const Case& c) {
  const WamConfig config = appendix_config(c.type);
  Dit dit(config, {RecomputePolicy::kNone});
  const auto units = appendix_units(dit, c.parameters);
  const Setting s = setting_for(c, config);
  const FlowSchedule schedule = flow_schedule(at::kCPU);
  const double samples = static_cast<double>(c.samples);

  const Losses losses = training_step(dit, s.batch, s.draws, schedule, *units,
                                      loss_weight(1.0 / samples, s.batch.text_BMD));
  const Mixed mixed = mix(s.batch.latent_BCFYX, s.batch.action_BPA, s.draws, schedule);
  const auto forward =
      dit.forward(dit_input(s.batch, mixed, at::kFloat), *units, Leaves::Track::kNo);
  forward->finish();

  check_values(forward->output.video_BCFYX, c.video_sum, c.video_squares, c.video_ends);
  check_values(forward->output.action_BPA, c.action_sum, c.action_squares, c.action_ends);
  CHECK(losses.video.item<double>() / samples == Approx(c.video_loss).epsilon(1e-5));
  CHECK(losses.action.item<double>() / samples == Approx(c.action_loss).epsilon(1e-5));
  CHECK(losses.loss.item<double>() / samples == Approx(c.video_loss + c.action_loss).epsilon(1e-5));
  check_gradient_norms(c, *units);
}

}  // namespace

TEST_CASE("Recorded values of the reference, i2v") {
  check_case({.type = ModelType::kI2v,
              .samples = 1,
              .frames = 9,
              .rows = 4,
              .columns = 6,
              .parameters = 1899605,
              .levels = {137, 20, 400, 777, 950},
              .video_sum = -50.271417,
              .video_squares = 10349.900707,
              .action_sum = -71.313071,
              .action_squares = 679.443389,
              .video_ends = {-1.030772, 0.439631, -1.060243, 1.149169, 1.664093, 2.049624, 0.712089,
                             1.238181},
              .action_ends = {-2.247245, 3.448280, -5.530605, -1.205266, -0.522986, -0.355042,
                              1.396982, -4.026277},
              .video_loss = 3.6202812,
              .action_loss = 7.5813274,
              .gradient_norm = 88.582486,
              .gradient_norms = {{"patch_embedding.weight", 4.283373},
                                 {"text_embedding.0.weight", 5.049064},
                                 {"time_embedding.0.weight", 25.50341},
                                 {"time_projection.1.bias", 8.642385},
                                 {"img_emb.proj.1.weight", 4.347153},
                                 {"state_encoder.layer1.W", 0.3517954},
                                 {"action_encoder.W1.W", 1.517365},
                                 {"action_encoder.W2.b", 1.468127},
                                 {"action_decoder.layer2.W", 37.41277},
                                 {"blocks.0.self_attn.q.weight", 3.143430},
                                 {"blocks.0.self_attn.norm_k.weight", 0.5051623},
                                 {"blocks.0.self_attn.k.bias", 0.1114077},
                                 {"blocks.1.self_attn.v.weight", 9.451657},
                                 {"blocks.0.cross_attn.k_img.weight", 1.756321},
                                 {"blocks.1.cross_attn.norm_q.weight", 0.3393994},
                                 {"blocks.0.norm3.weight", 0.3592587},
                                 {"blocks.0.ffn.0.weight", 16.65171},
                                 {"blocks.1.modulation", 6.632429},
                                 {"head.modulation", 1.022032},
                                 {"head.head.weight", 3.287106}}});
}

TEST_CASE("Recorded values of the reference, ti2v with an odd latent height") {
  check_case({.type = ModelType::kTi2v,
              .samples = 2,
              .frames = 5,
              .rows = 5,
              .columns = 6,
              .parameters = 1910997,
              .levels = {900, 333, 650, 10, 812, 501},
              .video_sum = -998.453952,
              .video_squares = 34867.157474,
              .action_sum = -51.622498,
              .action_squares = 490.352194,
              .video_ends = {0.154780, -0.830623, -0.184476, -0.868314, -0.425409, -2.437155,
                             -0.249658, -2.008114},
              .action_ends = {-4.184119, 0.892593, -1.955728, 1.784337, 0.866651, 1.676395,
                              3.371178, -2.357923},
              .video_loss = 4.6632595,
              .action_loss = 9.3201008,
              .gradient_norm = 100.611664,
              .gradient_norms = {{"patch_embedding.weight", 10.62443},
                                 {"text_embedding.0.weight", 7.179923},
                                 {"time_embedding.0.weight", 30.16487},
                                 {"time_projection.1.bias", 10.73576},
                                 {"img_emb.proj.1.weight", 6.115440},
                                 {"state_encoder.layer1.W", 0.9908794},
                                 {"action_encoder.W1.W", 2.256712},
                                 {"action_encoder.W2.b", 2.414492},
                                 {"action_decoder.layer2.W", 29.29889},
                                 {"blocks.0.self_attn.q.weight", 5.183155},
                                 {"blocks.0.self_attn.norm_k.weight", 0.9538362},
                                 {"blocks.0.self_attn.k.bias", 0.2787171},
                                 {"blocks.1.self_attn.v.weight", 14.26634},
                                 {"blocks.0.cross_attn.k_img.weight", 2.802670},
                                 {"blocks.1.cross_attn.norm_q.weight", 0.4582256},
                                 {"blocks.0.norm3.weight", 0.8243385},
                                 {"blocks.0.ffn.0.weight", 15.87189},
                                 {"blocks.1.modulation", 7.820117},
                                 {"head.modulation", 1.097252},
                                 {"head.head.weight", 2.161667}}});
}

}  // namespace wam::test
