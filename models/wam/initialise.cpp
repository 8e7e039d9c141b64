#include "models/wam/initialise.h"

#include <cmath>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include "core/base/errors.h"
#include "core/base/parallel.h"
#include "core/random/counter.h"

namespace wam {
namespace {

constexpr std::int64_t kDrawPiece = 1 << 16;  // values of one thread at a time

enum class Distribution { kConstant, kUniform, kNormal };

struct Rule {
  Distribution distribution;
  double scale;  // the constant, the bound of the uniform, the deviation of the normal
};

double xavier_bound(std::int64_t in, std::int64_t out) {
  return std::sqrt(6.0 / static_cast<double>(in + out));
}

bool has(const std::string& name, const char* part) {
  return name.find(part) != std::string::npos;
}

Rule rule_for(const TensorSpec& t, const WamConfig& c) {
  const std::string& name = t.name;
  const double width = static_cast<double>(c.width);
  const std::int64_t patch_in = c.input_channels() * 4;
  if (has(name, "modulation")) return {Distribution::kNormal, 1.0 / std::sqrt(width)};
  if (has(name, "_encoder.") || has(name, "_decoder.")) {
    return name.ends_with("W") ? Rule{Distribution::kNormal, 0.02}
                               : Rule{Distribution::kConstant, 0.0};
  }
  if (name == "patch_embedding.bias") {
    return {Distribution::kUniform, 1.0 / std::sqrt(static_cast<double>(patch_in))};
  }
  if (name == "patch_embedding.weight") {
    return {Distribution::kUniform, xavier_bound(patch_in, c.width)};
  }
  if (name.ends_with(".bias") || has(name, "head.head")) return {Distribution::kConstant, 0.0};
  invariant(name.ends_with(".weight"), "a parameter without a rule for its initial value");
  if (t.shape.size() == 1) return {Distribution::kConstant, 1.0};  // the norms
  if (has(name, "text_embedding") || has(name, "time_embedding")) {
    return {Distribution::kNormal, 0.02};
  }
  return {Distribution::kUniform, xavier_bound(t.shape.at(1), t.shape.at(0))};
}

void draw(const Rule& rule,
          const CounterStream& stream,
          float* out,
          std::int64_t begin,
          std::int64_t count) {
  const auto first = static_cast<std::uint64_t>(begin);
  const auto scale = static_cast<float>(rule.scale);
  if (rule.distribution == Distribution::kNormal) {
    stream.normals(out, count, first);
    for (std::int64_t i = 0; i < count; ++i) out[i] *= scale;
  } else {
    stream.uniforms(out, count, first);
    for (std::int64_t i = 0; i < count; ++i) out[i] = scale * (2.0F * out[i] - 1.0F);
  }
}

}  // namespace

void initialise_parameter(const TensorSpec& tensor,
                          const WamConfig& config,
                          std::uint64_t seed,
                          at::Tensor out) {
  const at::NoGradGuard no_grad;
  const Rule rule = rule_for(tensor, config);
  if (rule.distribution == Distribution::kConstant) {
    out.fill_(rule.scale);
    return;
  }
  const CounterStream stream(seed, Purpose::kInitialise,
                             fnv1a64(tensor.name.data(), tensor.name.size()));
  at::Tensor values = at::empty(tensor.shape, at::kFloat);
  auto* data = values.mutable_data_ptr<float>();
  for_each_piece(tensor.numel(), kDrawPiece, static_cast<unsigned>(at::get_num_threads()),
                 [&](std::int64_t begin, std::int64_t count) {
                   draw(rule, stream, data + begin, begin, count);
                 });
  out.copy_(values.view_as(out));
}

}  // namespace wam
