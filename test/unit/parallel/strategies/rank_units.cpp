#include "test/unit/parallel/strategies/rank_units.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>

namespace wam::test {

std::vector<UnitSpec> rank_specs(int blocks) {
  std::vector<UnitSpec> specs{make_unit("embeddings", {{.name = "e", .shape = {100}}})};
  for (int i = 0; i < blocks; ++i) {
    const std::string name = std::to_string(i);
    specs.push_back(
        make_unit("blocks." + name, {{.name = "w" + name, .shape = {20, 10 + 5 * (i % 3)}},
                                     {.name = "b" + name, .shape = {7}}}));
  }
  specs.push_back(make_unit("head", {{.name = "h", .shape = {64}}}));
  specs.front().held_throughout = true;
  specs.back().held_throughout = true;
  return specs;
}

at::Tensor whole_weights(const UnitSpec& spec, std::size_t unit_idx, int shards) {
  return at::arange(padded_numel(spec, shards), at::kFloat) +
         10'000.0 * static_cast<double>(unit_idx + 1);
}

}  // namespace wam::test
