#include <cmath>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "core/cuda/device.h"
#include "core/ops/channel_norm/channel_norm.h"
#include "core/ops/channel_norm/channel_norm_plain.h"
#include "core/random/counter.h"
#include "test/support/catch.h"

namespace wam {
namespace {

using Shape = std::vector<std::int64_t>;  // batch, channels, frames, rows, columns

at::Tensor draws(std::uint64_t which, const Shape& shape, at::ScalarType type) {
  at::Tensor out = at::empty(shape, at::kFloat);
  CounterStream(7, Purpose::kSampleWorld, which)
      .normals(out.mutable_data_ptr<float>(), out.numel());
  return out.to(at::kCUDA, type).contiguous(at::MemoryFormat::ChannelsLast3d);
}

at::Tensor draws_per_channel(std::uint64_t which, std::int64_t channels, at::ScalarType type) {
  at::Tensor out = at::empty({1, channels, 1, 1, 1}, at::kFloat);
  CounterStream(7, Purpose::kSampleWorld, which).normals(out.mutable_data_ptr<float>(), channels);
  return out.to(at::kCUDA, type);
}

struct Case {
  ChannelTerms terms;
  at::Tensor gamma;
};

struct Given {
  bool bias = true;
  bool skip = true;
};

Case make_case(const Shape& shape, at::ScalarType type, const Given& given) {
  Case out{{draws(1, shape, type), {}, {}}, draws_per_channel(4, shape[1], type)};
  if (given.bias) out.terms.bias = draws_per_channel(2, shape[1], at::kFloat);
  if (given.skip) out.terms.skip_BCTHW = draws(3, shape, type);
  return out;
}

ChannelTerms in_double(const ChannelTerms& terms) {
  const auto wide = [](const at::Tensor& t) { return t.defined() ? t.to(at::kDouble) : t; };
  return {wide(terms.x_BCTHW), wide(terms.bias), wide(terms.skip_BCTHW)};
}

// The largest error in units of the type's rounding, per element of its own size or of 1.
double worst(const at::Tensor& found, const at::Tensor& expected) {
  const double unit = found.scalar_type() == at::kBFloat16 ? 0x1p-8 : 0x1p-23;
  const at::Tensor size = expected.abs().clamp_min(1.0);
  return ((found.to(at::kDouble) - expected).abs() / size).max().item<double>() / unit;
}

struct Outputs {
  at::Tensor buffer, sum, normed;
};

// normed behind two frames and sum within a larger picture, as the VAE has them.
Outputs run(const Case& c, ChannelActivation activation) {
  const auto s = c.terms.x_BCTHW.sizes();
  const auto options = c.terms.x_BCTHW.options();
  const auto format = at::MemoryFormat::ChannelsLast3d;
  Outputs out;
  out.buffer = at::empty({s[0], s[1], s[2] + 2, s[3], s[4]}, options, format).fill_(9);
  out.normed = out.buffer.narrow(2, 2, s[2]);
  out.sum = at::empty({s[0], s[1], s[2], s[3] + 1, s[4] + 1}, options, format)
                .fill_(9)
                .narrow(3, 0, s[3])
                .narrow(4, 0, s[4]);
  channel_sum_norm(c.terms, c.gamma, activation, out.sum, out.normed);
  return out;
}

void check(const Case& c, ChannelActivation activation) {
  const Outputs out = run(c, activation);
  const at::Tensor sum = at::empty_like(c.terms.x_BCTHW, at::kDouble);
  channel_sum_plain(in_double(c.terms), sum);
  // In bf16 one rounding of the sum; in fp32 those of two sums, the first of which may be larger.
  const bool narrow = out.sum.scalar_type() == at::kBFloat16;
  CHECK(worst(out.sum, sum) <= (narrow ? 1.0 : 4.0));
  // Half a unit from rounding the result, the rest for a product and a root in fp32.
  const at::Tensor normed = at::empty_like(sum);
  channel_norm_plain(out.sum.to(at::kDouble), c.gamma.to(at::kDouble), activation, normed);
  CHECK(worst(out.normed, normed) <= (narrow ? 1.0 : 16.0));
  CHECK(out.buffer.narrow(2, 0, 2).eq(9).all().item<bool>());

  const Outputs again = run(c, activation);
  CHECK(at::equal(again.sum, out.sum));
  CHECK(at::equal(again.normed, out.normed));
  const at::Tensor alone = at::empty_like(c.terms.x_BCTHW);
  channel_norm(c.terms, c.gamma, activation, alone);
  CHECK(at::equal(alone, out.normed));
  channel_sum(c.terms, alone);
  CHECK(at::equal(alone, out.sum));
}

// Three frames side by side, and channels behind them that are left alone.
void check_side_by_side(const Case& c) {
  const auto s = c.terms.x_BCTHW.sizes();
  const at::Tensor buffer = at::empty({s[0], 3 * s[1] + 8, s[2], s[3], s[4]},
                                      c.terms.x_BCTHW.options(), at::MemoryFormat::ChannelsLast3d)
                                .fill_(9);
  const at::Tensor expected = buffer.clone();
  const at::Tensor alone = at::empty_like(c.terms.x_BCTHW);
  channel_norm(c.terms, c.gamma, ChannelActivation::kSilu, alone);
  frames_side_by_side(alone, expected.narrow(1, 0, 3 * s[1]));

  channel_norm(c.terms, c.gamma, ChannelActivation::kSilu, buffer.narrow(1, 0, 3 * s[1]));

  CHECK(at::equal(buffer, expected));
}

}  // namespace

TEST_CASE("Channel norm: the kernel equals the plain form in double and repeats bit for bit") {
  if (!gpu_available()) {
    std::puts("SKIPPED: no GPU");
    return;
  }
  // The widths of both VAEs, those of the tiny ones, and the widest; one position; odd sizes.
  const Shape shape =
      GENERATE(Shape{2, 96, 3, 17, 9}, Shape{1, 160, 5, 7, 11}, Shape{3, 192, 1, 5, 3},
               Shape{1, 320, 2, 9, 5}, Shape{2, 384, 3, 3, 7}, Shape{1, 640, 3, 5, 5},
               Shape{2, 8, 5, 13, 3}, Shape{1, 48, 2, 3, 597}, Shape{1, 1024, 1, 3, 3},
               Shape{1, 1280, 2, 1, 3}, Shape{1, 160, 1, 1, 1});
  for (const at::ScalarType type : {at::kBFloat16, at::kFloat}) {
    for (const Given& given :
         {Given{false, false}, Given{true, false}, Given{false, true}, Given{}}) {
      INFO(c10::toString(type) << " of " << shape[1] << " channels, bias " << given.bias
                               << ", skip " << given.skip);
      check(make_case(shape, type, given),
            given.bias ? ChannelActivation::kSilu : ChannelActivation::kNone);
    }
    check_side_by_side(make_case(shape, type, {}));
  }
}

TEST_CASE("Channel norm: the sum may be written over x, on a stream of its own") {
  if (!gpu_available()) {
    std::puts("SKIPPED: no GPU");
    return;
  }
  const Case c = make_case({2, 96, 3, 40, 61}, at::kBFloat16, {});
  const Outputs apart = run(c, ChannelActivation::kSilu);
  const auto stream = c10::cuda::getStreamFromPool();
  c10::cuda::getCurrentCUDAStream().synchronize();
  const c10::cuda::CUDAStreamGuard guard(stream);
  const at::Tensor normed = at::empty_like(c.terms.x_BCTHW);

  channel_sum_norm(c.terms, c.gamma, ChannelActivation::kSilu, c.terms.x_BCTHW, normed);

  CHECK(at::equal(c.terms.x_BCTHW, apart.sum));
  CHECK(at::equal(normed, apart.normed));
}

TEST_CASE("Channel norm: zeros give zeros, large and tiny values their direction") {
  if (!gpu_available()) {
    std::puts("SKIPPED: no GPU");
    return;
  }
  const auto options = at::TensorOptions(at::kCUDA).dtype(at::kFloat);
  const at::Tensor gamma = at::full({1, 96, 1, 1, 1}, 1.0, options);
  for (const double value : {0.0, 1e-15, 1e15}) {
    INFO("value " << value);
    const at::Tensor x =
        at::full({1, 96, 1, 2, 3}, value, options).contiguous(at::MemoryFormat::ChannelsLast3d);
    const at::Tensor normed = at::empty_like(x);

    channel_norm({x, {}, {}}, gamma, ChannelActivation::kNone, normed);

    // Below the floor the length counts as 1e-12.
    const double expected = value > 1 ? 1.0 : value / 1e-12 * std::sqrt(96.0);
    CHECK((normed - expected).abs().max().item<double>() < 1e-5);
  }
}

TEST_CASE("Channel norm: no positions are no work") {
  if (!gpu_available()) {
    std::puts("SKIPPED: no GPU");
    return;
  }
  const Case c = make_case({0, 96, 3, 4, 5}, at::kBFloat16, {});
  const at::Tensor normed = at::empty_like(c.terms.x_BCTHW);

  channel_norm(c.terms, c.gamma, ChannelActivation::kSilu, normed);

  CHECK(normed.numel() == 0);
}

}  // namespace wam
