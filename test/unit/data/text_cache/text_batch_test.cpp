#include "data/text_cache/text_batch.h"

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>

#include "core/base/errors.h"
#include "test/support/catch.h"

namespace wam {

TEST_CASE("Texts are padded to one of four lengths") {
  CHECK(padded_text_length(1) == 64);
  CHECK(padded_text_length(64) == 64);
  CHECK(padded_text_length(65) == 128);
  CHECK(padded_text_length(129) == 256);
  CHECK(padded_text_length(512) == 512);
  CHECK_THROWS_AS(padded_text_length(0), InvariantError);
  CHECK_THROWS_AS(padded_text_length(513), InvariantError);
}

TEST_CASE("Stacked texts keep their rows, and are zero past them") {
  const at::Tensor first_MD = at::ones({70, 4}, at::kBFloat16);
  const at::Tensor second_MD = at::full({3, 4}, 2, at::kBFloat16);

  const TextBatch batch = stack_text({first_MD, second_MD}, 4);

  CHECK(batch.length == std::vector<std::int64_t>{70, 3});
  CHECK(batch.text_BMD.sizes() == at::IntArrayRef({2, 128, 4}));
  CHECK(batch.text_BMD.scalar_type() == at::kBFloat16);
  CHECK(batch.text_BMD[0].narrow(0, 0, 70).equal(first_MD));
  CHECK(batch.text_BMD[1].narrow(0, 0, 3).equal(second_MD));
  CHECK(batch.text_BMD[0].narrow(0, 70, 58).abs().max().item().toDouble() == 0);
  CHECK(batch.text_BMD[1].narrow(0, 3, 125).abs().max().item().toDouble() == 0);
}

TEST_CASE("An empty batch of texts has the smallest length and the right width") {
  const TextBatch batch = stack_text({}, 4);

  CHECK(batch.length.empty());
  CHECK(batch.text_BMD.sizes() == at::IntArrayRef({0, 64, 4}));
}

TEST_CASE("A text of another width is a mistake of ours") {
  CHECK_THROWS_AS(stack_text({at::ones({2, 5}, at::kBFloat16)}, 4), InvariantError);
}

}  // namespace wam
