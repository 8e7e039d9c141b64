#include <cmath>
#include <cstdio>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>

#include "core/cuda/device.h"
#include "models/wam/attention_plan.h"
#include "test/support/catch.h"
#include "test/unit/models/wam/random_dit.h"

namespace wam::test {
namespace {

constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kHeadWidth = 128;
const at::Device kDevice(at::kCUDA, 0);

struct Found {
  at::Tensor out, dq, dk, dv;
};

at::Tensor tokens(std::int64_t samples, std::int64_t count, std::uint64_t key) {
  return random_tensor({samples, count, kHeads, kHeadWidth}, key).to(kDevice, at::kBFloat16);
}

// The block's calls: k contiguous, v a part of a wider product, results a part of all tokens.
Found run(const GroupAttention& group,
          const TokenLayout& layout,
          std::int64_t samples,
          at::ScalarType type,
          AttentionEngine* engine) {
  const AttentionOptions options{.scale = 1.0 / std::sqrt(static_cast<double>(kHeadWidth)),
                                 .key_bias_M = {},
                                 .engine = engine};
  const at::Tensor q = tokens(samples, group.queries.count, 1).to(type);
  const at::Tensor k = tokens(samples, layout.tokens(), 2).to(type);
  const at::Tensor dout = tokens(samples, group.queries.count, 4).to(type);
  const at::Tensor wide =
      at::empty({samples, layout.tokens(), 3 * kHeads, kHeadWidth}, k.options());
  const at::Tensor v = wide.narrow(2, 2 * kHeads, kHeads);
  v.copy_(tokens(samples, layout.tokens(), 3));
  const at::Tensor gradients = at::empty(wide.sizes(), wide.options());
  Found f{at::empty(q.sizes(), q.options()), at::empty(q.sizes(), q.options()),
          at::empty(k.sizes(), k.options()), gradients.narrow(2, 2 * kHeads, kHeads)};
  const at::Tensor lse = group_attention_forward(group, options, q, k, v, f.out);
  group_attention_backward(group, options, dout, q, k, v, f.out, lse, {f.dq, f.dk, f.dv});
  return f;
}

void compare(const TokenLayout& layout, std::int64_t window_frames, std::int64_t samples) {
  for (const bool last_block : {false, true}) {
    INFO(layout.blocks << " blocks of " << layout.frame_tokens() << " tokens a frame, "
                       << layout.actions_per_block << " actions, last block " << last_block);
    const TokenRange queries = last_block ? layout.results() : layout.queries();
    const GroupAttention group = group_attention(layout, window_frames, queries, kDevice);
    const auto engine = make_attention_engine(kDevice, at::kBFloat16, /*deterministic=*/true);
    const Found found = run(group, layout, samples, at::kBFloat16, engine.get());
    const Found expected = run(group, layout, samples, at::kFloat, nullptr);
    // bf16 keeps 8 bits; p and ds are rounded to it inside, sums are in fp32.
    constexpr double kLimit = 2e-2;
    CHECK(relative_error(found.out, expected.out) < kLimit);
    CHECK(relative_error(found.dq, expected.dq) < kLimit);
    CHECK(relative_error(found.dk, expected.dk) < kLimit);
    CHECK(relative_error(found.dv, expected.dv) < kLimit);

    const Found again = run(group, layout, samples, at::kBFloat16, engine.get());
    CHECK(at::equal(again.out, found.out));
    CHECK(at::equal(again.dq, found.dq));
    CHECK(at::equal(again.dk, found.dk));
    CHECK(at::equal(again.dv, found.dv));
  }
}

}  // namespace

TEST_CASE("Grouped attention of the 5B equals its plain twin for every number of blocks") {
  if (!gpu_available()) {
    std::puts("SKIPPED: no GPU");
    return;
  }
  for (std::int64_t blocks = 1; blocks <= 6; ++blocks) {
    for (const std::int64_t actions : {0, 24}) {
      compare(
          {.blocks = blocks, .patch_rows = 5, .patch_columns = 10, .actions_per_block = actions},
          /*window_frames=*/9, /*samples=*/3);
    }
  }
}

TEST_CASE("Grouped attention of the 14B equals its plain twin for every number of blocks") {
  if (!gpu_available()) {
    std::puts("SKIPPED: no GPU");
    return;
  }
  for (std::int64_t blocks = 1; blocks <= 6; ++blocks) {
    for (const std::int64_t actions : {0, 24}) {
      compare(
          {.blocks = blocks, .patch_rows = 22, .patch_columns = 40, .actions_per_block = actions},
          /*window_frames=*/9, /*samples=*/1);
    }
  }
}

}  // namespace wam::test
