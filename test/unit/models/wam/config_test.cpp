#include "models/wam/config.h"

#include <algorithm>
#include <cmath>

#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>

#include "core/base/errors.h"
#include "core/random/counter.h"
#include "models/wam/initialise.h"
#include "models/wam/memory.h"
#include "models/wam/parameters.h"
#include "test/support/catch.h"
#include "test/unit/models/wam/random_dit.h"

namespace wam::test {
namespace {

// Parameters whose name starts with one of the prefixes.
std::int64_t count(const WamConfig& config, const std::vector<std::string>& prefixes) {
  std::int64_t sum = 0;
  for (const UnitSpec& unit : wam_units(config)) {
    for (const TensorSpec& tensor : unit.tensors) {
      if (std::any_of(prefixes.begin(), prefixes.end(),
                      [&](const std::string& p) { return tensor.name.starts_with(p); })) {
        sum += tensor.numel();
      }
    }
  }
  return sum;
}

std::size_t num_tensors(const WamConfig& config) {
  std::size_t sum = 0;
  for (const UnitSpec& unit : wam_units(config)) sum += unit.tensors.size();
  return sum;
}

const TensorSpec& find(const std::vector<UnitSpec>& units, const std::string& name) {
  for (const UnitSpec& unit : units) {
    for (const TensorSpec& tensor : unit.tensors) {
      if (tensor.name == name) return tensor;
    }
  }
  throw InvariantError("no tensor " + name);
}

}  // namespace

TEST_CASE("The 14B preset has the parameters of the reference, part by part") {
  const WamConfig c = wam_preset("14b");
  CHECK(parameter_count(wam_units(c)) == 16484292448);
  CHECK(num_tensors(c) == 1317);
  CHECK(count(c, {"blocks."}) == 16153538560);
  CHECK(count(c, {"blocks.7."}) == 403838464);
  CHECK(count(c, {"blocks.0.modulation"}) == 30720);
  CHECK(count(c, {"blocks.0.self_attn."}) == 104888320);
  CHECK(count(c, {"blocks.0.norm3."}) == 10240);
  CHECK(count(c, {"blocks.0.cross_attn.k_img", "blocks.0.cross_attn.v_img",
                  "blocks.0.cross_attn.norm_k_img"}) == 52444160);
  CHECK(count(c, {"blocks.0.ffn."}) == 141576704);
  CHECK(count(c, {"patch_embedding."}) == 742400);
  CHECK(count(c, {"text_embedding."}) == 47196160);
  CHECK(count(c, {"time_embedding."}) == 27535360);
  CHECK(count(c, {"time_projection."}) == 157317120);
  CHECK(count(c, {"img_emb."}) == 8211200);
  CHECK(count(c, {"head."}) == 337984);
  CHECK(count(c, {"state_encoder."}) == 5314560);
  CHECK(count(c, {"action_encoder."}) == 78822400);
  CHECK(count(c, {"action_decoder."}) == 5276704);
}

TEST_CASE("The 5B preset has the parameters of the reference, part by part") {
  const WamConfig c = wam_preset("5b");
  CHECK(parameter_count(wam_units(c)) == 5606692832);
  CHECK(num_tensors(c) == 997);
  CHECK(count(c, {"blocks."}) == 5476208640);
  CHECK(count(c, {"blocks.3."}) == 182540288);
  CHECK(count(c, {"patch_embedding."}) == 592896);
  CHECK(count(c, {"text_embedding."}) == 22026240);
  CHECK(count(c, {"time_embedding."}) == 10229760);
  CHECK(count(c, {"time_projection."}) == 56641536);
  CHECK(count(c, {"img_emb."}) == 5583616);
  CHECK(count(c, {"head."}) == 596160);
  CHECK(count(c, {"state_encoder."}) == 3215360);
  CHECK(count(c, {"action_encoder."}) == 28419072);
  CHECK(count(c, {"action_decoder."}) == 3179552);
}

TEST_CASE("Geometry of the presets") {
  CHECK(wam_preset("14b").tokens_per_frame() == 880);
  CHECK(wam_preset("5b").tokens_per_frame() == 50);
  CHECK(wam_preset("tiny-5b").tokens_per_frame() == 8);
  CHECK(wam_preset("tiny-14b").tokens_per_frame() == 32);
  CHECK(wam_preset("14b").input_channels() == 36);
  CHECK(wam_preset("5b").window_frames() == 9);
  for (const std::string& name : wam_preset_names()) {
    CHECK_NOTHROW(check(wam_preset(name)));
    CHECK(wam_preset(name).preset == name);
  }
}

TEST_CASE("A misspelt preset names the nearest one") {
  CHECK_THROWS_WITH(wam_preset("tiny-5B"), Catch::Contains("tiny-5b"));
  CHECK_THROWS_AS(wam_preset("huge"), ConfigError);
}

TEST_CASE("Sizes that do not fit are reported together") {
  WamConfig c = wam_preset("tiny-5b");
  c.heads = 5;
  c.target_height = 16;
  CHECK_THROWS_WITH(check(c), Catch::Contains("5 heads") && Catch::Contains("16x128"));
}

TEST_CASE("Weight decay leaves out layer norms and biases, and nothing else") {
  const auto units = wam_units(wam_preset("tiny-5b"));
  for (const char* name : {"blocks.0.norm3.weight", "blocks.1.norm3.bias", "img_emb.proj.0.weight",
                           "img_emb.proj.4.bias", "blocks.0.self_attn.q.bias",
                           "patch_embedding.bias", "head.head.bias"}) {
    INFO(name);
    CHECK_FALSE(find(units, name).decayed);
  }
  for (const char* name : {"blocks.0.modulation", "head.modulation", "state_encoder.layer1.b",
                           "action_encoder.W2.b", "blocks.0.self_attn.norm_q.weight",
                           "blocks.0.cross_attn.norm_k_img.weight", "img_emb.proj.1.weight"}) {
    INFO(name);
    CHECK(find(units, name).decayed);
  }
}

TEST_CASE("Weights of q, k and v are one stretch of the unit") {
  for (const std::string preset : {"tiny-5b", "14b"}) {
    const auto units = wam_units(wam_preset(preset));
    const TensorSpec& q = find(units, "blocks.0.self_attn.q.weight");
    const TensorSpec& k = find(units, "blocks.0.self_attn.k.weight");
    const TensorSpec& v = find(units, "blocks.0.self_attn.v.weight");
    CHECK(k.offset == q.offset + q.numel());
    CHECK(v.offset == k.offset + k.numel());
  }
}

TEST_CASE("Initial values follow the reference's distributions") {
  const WamConfig c = wam_preset("tiny-14b");
  const auto units = wam_units(c);
  const auto value = [&](const char* name) {
    const TensorSpec& spec = find(units, name);
    at::Tensor out = at::zeros(spec.shape, at::kFloat);
    initialise_parameter(spec, c, 3, out);
    return out;
  };
  const auto deviation = [](const at::Tensor& t) { return t.std().item<double>(); };
  const double xavier = std::sqrt(6.0 / (96 + 96));
  CHECK(value("blocks.0.cross_attn.v_img.weight").abs().max().item<double>() <= xavier);
  CHECK(deviation(value("blocks.0.cross_attn.v_img.weight")) ==
        Approx(xavier / std::sqrt(3.0)).epsilon(0.03));
  CHECK(deviation(value("text_embedding.0.weight")) == Approx(0.02).epsilon(0.05));
  CHECK(deviation(value("time_embedding.2.weight")) == Approx(0.02).epsilon(0.05));
  CHECK(deviation(value("time_projection.1.weight")) ==
        Approx(std::sqrt(2.0 / (96 + 576))).epsilon(0.03));
  CHECK(deviation(value("action_encoder.W2.W")) == Approx(0.02).epsilon(0.05));
  CHECK(deviation(value("blocks.1.modulation")) == Approx(1 / std::sqrt(96.0)).epsilon(0.1));
  CHECK(deviation(value("patch_embedding.weight")) ==
        Approx(std::sqrt(2.0 / (36 * 4 + 96))).epsilon(0.03));
  CHECK(value("patch_embedding.bias").abs().max().item<double>() <= 1 / std::sqrt(144.0));
  CHECK(value("patch_embedding.bias").abs().max().item<double>() > 0.05);
  CHECK(value("head.head.weight").abs().max().item<double>() == 0.0);
  CHECK(value("blocks.0.self_attn.q.bias").abs().max().item<double>() == 0.0);
  CHECK(value("state_encoder.layer1.b").abs().max().item<double>() == 0.0);
  CHECK(value("blocks.0.self_attn.norm_q.weight").min().item<double>() == 1.0);
  CHECK(value("blocks.0.norm3.weight").max().item<double>() == 1.0);
  CHECK(value("img_emb.proj.4.weight").max().item<double>() == 1.0);
}

TEST_CASE("An initial value is a function of seed and name alone") {
  const WamConfig c = wam_preset("tiny-5b");
  const TensorSpec spec = wam_units(c)[1].tensors[1];
  at::Tensor first = at::zeros(spec.shape, at::kFloat);
  at::Tensor again = at::zeros(spec.shape, at::kDouble);
  at::Tensor other = at::zeros(spec.shape, at::kFloat);
  initialise_parameter(spec, c, 3, first);
  initialise_parameter(spec, c, 3, again);
  initialise_parameter(spec, c, 4, other);
  CHECK(at::equal(first.to(at::kDouble), again));
  CHECK_FALSE(at::equal(first, other));
}

TEST_CASE("Initial values are those of one stream, whatever threads draw which piece") {
  const WamConfig c = wam_preset("tiny-5b");
  const TensorSpec spec{.name = "text_embedding.0.weight", .shape = {37, 5000}};
  at::Tensor found = at::zeros(spec.shape, at::kFloat);
  initialise_parameter(spec, c, 3, found);

  at::Tensor expected = at::zeros(spec.shape, at::kFloat);
  CounterStream(3, Purpose::kInitialise, fnv1a64(spec.name.data(), spec.name.size()))
      .normals(expected.mutable_data_ptr<float>(), expected.numel());
  CHECK(at::equal(found, expected.mul_(0.02F)));
}

TEST_CASE("The activation table holds what a block keeps, byte for byte") {
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    for (const std::int64_t text_rows : {5, 9}) {
      WamConfig config = small_config(ModelType::kI2v);
      config.vae_stride = 1;
      config.target_height = 4;
      config.target_width = 6;
      const InputShape shape{.samples = 2, .blocks = 3, .text_rows = text_rows};
      Dit dit(config, {RecomputePolicy::kNone});
      const auto units = random_units(dit, type);
      const DitInput in = random_input(config, shape, type);
      const BlockSaved saved = first_block_saved(dit, in, *units);

      const MicroBatchShape micro{
          .samples = 2, .blocks = 3, .text_rows = text_rows, .compute_type = type};
      INFO(c10::toString(type) << ", " << text_rows << " rows of text");
      const BlockExtents extents = block_extents(config, micro, BlockPlace::kInner);
      for (const auto& [policy, name] : EnumNames<RecomputePolicy>::table) {
        INFO("recompute " << name);
        BlockSaved kept = saved;
        drop(policy, kept);
        const auto found = saved_bytes(kept);
        const auto expected = saved_bytes(policy, extents);
        REQUIRE(found.size() == expected.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
          INFO(found[i].name);
          CHECK(found[i].name == expected[i].name);
          CHECK(found[i].bytes == expected[i].bytes);
        }
      }
      const auto bytes = [&](RecomputePolicy policy) {
        return block_bytes(config, micro, policy);
      };
      CHECK(bytes(RecomputePolicy::kNone).kept > bytes(RecomputePolicy::kNorms).kept);
      CHECK(bytes(RecomputePolicy::kNorms).kept > bytes(RecomputePolicy::kAttention).kept);
      CHECK(bytes(RecomputePolicy::kFull).kept == 0);
      CHECK(bytes(RecomputePolicy::kFull).rebuilt == bytes(RecomputePolicy::kNone).kept);
      CHECK(activation_bytes(config, micro, {.policy = RecomputePolicy::kNone, .first_blocks = 2}) <
            activation_bytes(config, micro, {RecomputePolicy::kNone}));
    }
  }
}

}  // namespace wam::test
