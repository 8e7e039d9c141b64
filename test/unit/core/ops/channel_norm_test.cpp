#include "core/ops/channel_norm/channel_norm.h"

#include <algorithm>
#include <cmath>

#include <ATen/ops/arange.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "test/support/catch.h"

namespace wam {
namespace {

at::Tensor one_position(std::initializer_list<double> channels) {
  return at::tensor(at::ArrayRef<double>(channels)).reshape({1, -1, 1, 1, 1});
}

double channel(const at::Tensor& t, std::int64_t c) {
  return t.select(1, c).item<double>();
}

}  // namespace

TEST_CASE("Channel norm: a sum of all terms is scaled to root mean square 1, then weighted") {
  const ChannelTerms terms{one_position({1, 5}), one_position({1, -1}), one_position({1, 0})};
  const at::Tensor gamma = one_position({1, 2});
  const at::Tensor sum = at::empty_like(terms.x_BCTHW);
  const at::Tensor normed = at::empty_like(sum);

  channel_sum_norm(terms, gamma, ChannelActivation::kNone, sum, normed);

  CHECK(channel(sum, 0) == 3.0);
  CHECK(channel(sum, 1) == 4.0);
  // |sum| = 5.
  CHECK(channel(normed, 0) == Approx(3.0 / 5 * std::sqrt(2.0)));
  CHECK(channel(normed, 1) == Approx(4.0 / 5 * std::sqrt(2.0) * 2));

  channel_norm(terms, gamma, ChannelActivation::kSilu, normed);
  const double n = 3.0 / 5 * std::sqrt(2.0);
  CHECK(channel(normed, 0) == Approx(n / (1 + std::exp(-n))));
}

TEST_CASE("Channel norm: the sum may be written over x or skip, x alone is copied") {
  const ChannelTerms terms{one_position({1, 5}), {}, one_position({1, 0})};

  channel_sum(terms, terms.skip_BCTHW);
  CHECK(channel(terms.skip_BCTHW, 0) == 2.0);
  channel_sum(terms, terms.x_BCTHW);
  CHECK(channel(terms.x_BCTHW, 0) == 3.0);
  const at::Tensor copy = at::empty_like(terms.x_BCTHW);
  channel_sum({terms.x_BCTHW, {}, {}}, copy);
  CHECK(channel(copy, 1) == channel(terms.x_BCTHW, 1));
}

TEST_CASE("Channel norm: the length counts as 1e-12 at least") {
  const at::Tensor normed = one_position({9, 9});

  channel_norm({one_position({0, 0}), {}, {}}, one_position({1, 1}), ChannelActivation::kNone,
               normed);
  CHECK(channel(normed, 0) == 0.0);
  channel_norm({one_position({3e-14, 4e-14}), {}, {}}, one_position({1, 1}),
               ChannelActivation::kNone, normed);
  CHECK(channel(normed, 0) == Approx(0.03 * std::sqrt(2.0)));
}

TEST_CASE(
    "Channel norm: frames side by side, the latest last, places before the first left alone") {
  // Frames 1, 2, 3 and 4 of two channels.
  const at::Tensor x =
      at::arange(1, 5, at::kDouble).reshape({1, 1, 4, 1, 1}).repeat({1, 2, 1, 1, 1});
  const at::Tensor out = at::zeros({1, 6, 4, 1, 1}, at::kDouble);

  frames_side_by_side(x, out);

  for (std::int64_t frame = 0; frame < 4; ++frame) {
    for (std::int64_t place = 0; place < 3; ++place) {
      const auto expected = static_cast<double>(std::max<std::int64_t>(0, frame + place - 1));
      CHECK(out.select(2, frame).select(1, 2 * place).item<double>() == expected);
    }
  }
}

}  // namespace wam
