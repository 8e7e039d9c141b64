#include <vector>

#include "models/text/umt5.h"
#include "test/golden/encoders/golden_parameters.h"
#include "test/support/catch.h"

namespace wam::test {
namespace {

Umt5Config config_of(const GoldenFile& golden) {
  const auto size = [&](const char* key) { return golden.config().at(key).get<std::int64_t>(); };
  return {.vocab = size("vocab"),
          .dim = size("dim"),
          .attention_dim = size("dim_attn"),
          .feed_forward_dim = size("dim_ffn"),
          .num_heads = size("num_heads"),
          .num_layers = size("num_layers"),
          .num_buckets = size("num_buckets"),
          .max_distance = size("max_dist")};
}

void check_file(const GoldenFile& golden, const GoldenPlace& place) {
  const Umt5Config config = config_of(golden);
  const at::Tensor sums = golden.build("in.mask", at::kLong).sum(1);
  const auto* counts = sums.const_data_ptr<std::int64_t>();
  const std::vector<std::int64_t> lengths(counts, counts + sums.numel());
  INFO(golden.name() << " on " << place.text());
  const Umt5Encoder encoder(
      config, given_frozen(umt5_tensors(config), golden_parameters(golden, place.type),
                           {place.device, place.type}));

  const at::Tensor rows = encoder.encode(golden.build("in.ids", at::kLong), lengths);

  // Twelve tensors a block, and the last norm.
  const Arithmetic error{.roundings = 2 + 12 * static_cast<double>(config.num_layers),
                         .terms = static_cast<double>(config.feed_forward_dim)};
  CHECK(golden.error_of(rows, "out.zeroed") < golden_limit(golden, "out.zeroed", place, error));
}

}  // namespace

TEST_CASE("UMT5 encoder: embeddings equal the reference's") {
  for (const GoldenPlace& place : golden_places()) {
    for (const auto& path : golden_files("umt5")) check_file(GoldenFile(path), place);
  }
}

}  // namespace wam::test
