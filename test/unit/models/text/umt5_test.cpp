#include "models/text/umt5.h"

#include <utility>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "test/support/catch.h"

namespace wam {
namespace {

constexpr std::int64_t kVocab = 40;

Umt5Encoder random_encoder(at::ScalarType type) {
  const Umt5Config config = Umt5Config::tiny(kVocab);
  const FrozenSource source{.seed = 3, .path = {}, .prefix = {}};
  return {config, load_frozen(umt5_tensors(config), source, {at::kCPU, type})};
}

// Prompts of 9, 4 and 1 tokens, padded to 12.
const std::vector<std::int64_t> kLengths{9, 4, 1};

at::Tensor padded_ids() {
  const std::vector<std::int64_t> ids{5, 6, 7, 8, 9, 10, 11, 12, 1, 0, 0, 0,  //
                                      9, 8, 7, 1, 0, 0,  0,  0,  0, 0, 0, 0,  //
                                      1, 0, 0, 0, 0, 0,  0,  0,  0, 0, 0, 0};
  return at::tensor(ids, at::kLong).view({3, 12});
}

}  // namespace

TEST_CASE("UMT5: tensors and parameters are as many as in the published file") {
  const FrozenModel model = umt5_tensors(Umt5Config::xxl());

  CHECK(model.tensors.size() == 242);
  CHECK(model.numel() == 5'680'910'336);
  CHECK(model.needed_numel() == model.numel());
}

TEST_CASE("UMT5: distances fall into the published buckets") {
  // First distance of each bucket, and the last bucket's reach.
  const std::vector<std::pair<std::int64_t, std::int64_t>> starts{
      {8, 8}, {12, 9}, {16, 10}, {23, 11}, {32, 12}, {46, 13}, {64, 14}, {91, 15}, {512, 16}};
  for (std::int64_t n = 0; n < 8; ++n) {
    CHECK(relative_bucket(-n, 32, 128) == n);
    CHECK(relative_bucket(n, 32, 128) == (n == 0 ? 0 : 16 + n));
  }
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
    for (std::int64_t n = starts[i].first; n < starts[i + 1].first; ++n) {
      CHECK(relative_bucket(-n, 32, 128) == starts[i].second);
      CHECK(relative_bucket(n, 32, 128) == 16 + starts[i].second);
    }
  }
}

TEST_CASE("UMT5: a prompt's rows do not depend on padding or on the other prompts") {
  const Umt5Encoder encoder = random_encoder(at::kDouble);
  const at::Tensor ids = padded_ids();

  const at::Tensor together = encoder.encode(ids, kLengths);

  REQUIRE(together.sizes() == at::IntArrayRef({3, 12, 64}));
  for (std::size_t b = 0; b < kLengths.size(); ++b) {
    const auto row = static_cast<std::int64_t>(b);
    const at::Tensor alone =
        encoder.encode(ids.slice(0, row, row + 1).slice(1, 0, kLengths[b]), {kLengths[b]});
    const at::Tensor valid = together.select(0, row).slice(0, 0, kLengths[b]);
    CHECK((valid - alone.select(0, 0)).abs().max().item<double>() < 1e-12);
    CHECK(together.select(0, row).slice(0, kLengths[b]).count_nonzero().item<std::int64_t>() == 0);
  }
}

TEST_CASE("UMT5: order and words of a prompt show in every row") {
  const Umt5Encoder encoder = random_encoder(at::kFloat);
  const at::Tensor a = encoder.encode(at::tensor({5, 6, 7, 1}, at::kLong).view({1, 4}), {4});
  const at::Tensor b = encoder.encode(at::tensor({6, 5, 7, 1}, at::kLong).view({1, 4}), {4});

  CHECK((a - b).abs().amax(-1).min().item<double>() > 1e-4);
  CHECK(a.square().mean().item<double>() == Approx(1.0).epsilon(0.01));
}

TEST_CASE("UMT5: bf16 agrees with float32 to its rounding") {
  const at::Tensor exact = random_encoder(at::kFloat).encode(padded_ids(), kLengths);

  const at::Tensor rounded = random_encoder(at::kBFloat16).encode(padded_ids(), kLengths);

  CHECK(rounded.scalar_type() == at::kBFloat16);
  CHECK((rounded.to(at::kFloat) - exact).abs().max().item<double>() < 0.1);
}

TEST_CASE("UMT5: lengths that do not fit the ids are refused") {
  const Umt5Encoder encoder = random_encoder(at::kFloat);

  CHECK_THROWS_WITH(encoder.encode(padded_ids(), {9, 4, 13}), Catch::Contains("outside 1..L"));
  CHECK_THROWS_WITH(encoder.encode(padded_ids(), {9, 4, 0}), Catch::Contains("outside 1..L"));
  CHECK_THROWS_WITH(encoder.encode(padded_ids(), {9, 4}), Catch::Contains("one length per row"));
}

}  // namespace wam
