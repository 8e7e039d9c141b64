#include "models/wam/attention_plan.h"

#include <cmath>

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include "core/ops/token_rows/token_rows.h"
#include "test/support/catch.h"
#include "test/unit/models/wam/plain_dit.h"

namespace wam::test {
namespace {

// Place of every token of TokenLayout in the reference's order [clean | noisy | actions | states].
std::vector<std::int64_t> reference_order(const TokenLayout& l) {
  std::vector<std::int64_t> out;
  const auto run = [&](std::int64_t begin, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) out.push_back(begin + i);
  };
  const std::int64_t video = l.video_tokens();
  run(0, video + l.frame_tokens());
  for (std::int64_t i = 0; i < l.blocks; ++i) {
    run(video + l.frame_tokens() + i * l.block_video_tokens(), l.block_video_tokens());
    run(2 * video + i * l.actions_per_block, l.actions_per_block);
  }
  run(2 * video + l.actions(), l.states().count);
  return out;
}

// What the calls allow, as a dense mask in the reference's order; every query exactly once.
at::Tensor mask_of(const TokenLayout& l, std::int64_t window_frames) {
  const auto order = reference_order(l);
  at::Tensor mask = at::zeros({l.tokens(), l.tokens()}, at::kBool);
  at::Tensor times_queried = at::zeros({l.tokens()}, at::kLong);
  auto m = mask.accessor<bool, 2>();
  auto t = times_queried.accessor<std::int64_t, 1>();
  const auto place = [&](std::int64_t token) { return order[static_cast<std::size_t>(token)]; };
  for (const AttentionCall& call : attention_plan(l, window_frames, l.queries())) {
    for (std::int64_t q = call.queries.begin; q < call.queries.end(); ++q) {
      ++t[place(q)];
      for (const TokenRange& keys : call.keys) {
        for (std::int64_t k = keys.begin; k < keys.end(); ++k) m[place(q)][place(k)] = true;
      }
    }
  }
  for (std::int64_t s = l.states().begin; s < l.states().end(); ++s) {
    ++t[place(s)];
    m[place(s)][place(s)] = true;
  }
  CHECK(at::equal(times_queried, at::full({l.tokens()}, 1, at::kLong)));
  return mask;
}

std::int64_t pairs(const TokenLayout& l, std::int64_t window_frames) {
  std::int64_t out = l.states().count;
  for (const AttentionCall& call : attention_plan(l, window_frames, l.queries())) {
    for (const TokenRange& keys : call.keys) out += call.queries.count * keys.count;
  }
  return out;
}

}  // namespace

TEST_CASE("The attention calls allow exactly what the relation of training allows") {
  for (const std::int64_t blocks : {1, 2, 3, 4, 5, 6}) {
    for (const std::int64_t window_frames : {3, 5, 9}) {
      for (const std::int64_t actions : {0, 3}) {
        const TokenLayout l{
            .blocks = blocks, .patch_rows = 1, .patch_columns = 2, .actions_per_block = actions};
        INFO(blocks << " blocks, window " << window_frames << ", actions " << actions);
        CHECK(at::equal(mask_of(l, window_frames), plain_mask(blocks, 2, actions, window_frames)));
      }
    }
  }
}

TEST_CASE("The presets attend to as many pairs as the reference") {
  CHECK(pairs({.blocks = 4, .patch_rows = 22, .patch_columns = 40, .actions_per_block = 24}, 9) ==
        76576484);
  CHECK(pairs({.blocks = 4, .patch_rows = 5, .patch_columns = 10, .actions_per_block = 24}, 9) ==
        286204);
  CHECK(pairs({.blocks = 4, .patch_rows = 5, .patch_columns = 10, .actions_per_block = 16}, 9) ==
        272092);
  CHECK(pairs({.blocks = 4, .patch_rows = 5, .patch_columns = 10, .actions_per_block = 12}, 9) ==
        265228);
}

TEST_CASE("Results of the last block are its noisy video and its actions") {
  const TokenLayout l{.blocks = 2, .patch_rows = 1, .patch_columns = 2, .actions_per_block = 3};
  CHECK(l.tokens() == 2 * 10 + 6 + 2);
  CHECK(l.results() == TokenRange{10, 16});
  const auto calls = attention_plan(l, 9, l.results());
  REQUIRE(calls.size() == 3);
  CHECK(calls[0].queries == TokenRange{10, 2});
  CHECK(calls[1].queries == TokenRange{12, 7});
  CHECK(calls[2].queries == TokenRange{19, 7});
  CHECK((calls[2].keys == std::vector<TokenRange>{{0, 6}, {19, 7}, {27, 1}}));
}

TEST_CASE("Every token has the timestep row of its frame, block or action") {
  TokenLayout l{.blocks = 2, .patch_rows = 1, .patch_columns = 1, .actions_per_block = 2};
  const auto rows = [&](const TokenRange& range) {
    const at::Tensor row = row_of_token(time_rows_of(l, range));
    const auto* p = row.const_data_ptr<std::int64_t>();
    return std::vector<std::int64_t>(p, p + row.numel());
  };
  const std::vector<std::int64_t> coupled = {0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 3, 3, 3, 3, 2, 3};
  CHECK(l.time_rows() == 4);
  CHECK(rows({0, l.tokens()}) == coupled);
  CHECK(rows(l.results()) == std::vector<std::int64_t>{1, 2, 2, 2, 2, 3, 3, 3, 3});
  l.action_time = ActionTime::kOwn;
  const std::vector<std::int64_t> own = {0, 0, 0, 0, 0, 1, 2, 2, 4, 5, 3, 3, 6, 7, 4, 6};
  CHECK(l.time_rows() == 8);
  CHECK(rows({0, l.tokens()}) == own);
}

TEST_CASE("Rotary spectra of the reference") {
  const TokenLayout l{.blocks = 1, .patch_rows = 2, .patch_columns = 2, .actions_per_block = 2};
  const at::Tensor table = rotary_table(l, 128);
  const auto angle = [&](std::int64_t token, std::int64_t pair) {
    const at::Tensor entry = table[token][pair];
    return std::atan2(entry[1].item<double>(), entry[0].item<double>());
  };
  // Token 7 is frame 1, row 1, column 1.
  CHECK(angle(7, 1) == Approx(0.657933).epsilon(1e-5));
  CHECK(angle(7, 21) == Approx(1.519911e-4).epsilon(1e-5));
  CHECK(angle(7, 23) == Approx(0.644947).epsilon(1e-5));
  CHECK(angle(7, 42) == Approx(1.550516e-4).epsilon(1e-5));
  CHECK(angle(7, 44) == Approx(0.644947).epsilon(1e-5));
  // The second action stands at position 1.
  const std::int64_t action = l.noisy_block(0).begin + l.block_video_tokens() + 1;
  CHECK(angle(action, 1) == Approx(0.865964).epsilon(1e-5));
  CHECK(angle(action, 63) == Approx(1.154782e-4).epsilon(1e-5));
}

}  // namespace wam::test
