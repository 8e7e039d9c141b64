#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace wam {

// One parameter. `name` is its name in files.
struct TensorSpec {
  std::string name;
  std::vector<std::int64_t> shape;
  bool trainable = true;
  bool decayed = true;      // weight decay applies
  std::int64_t offset = 0;  // elements into the unit's flat buffer; set by make_unit

  [[nodiscard]] std::int64_t numel() const;
};

// A unit (D2): the parameters that are gathered, reduced and saved together, as plain data.
// Flat, the trainable tensors come first, then the frozen ones; each starts at a multiple of
// kUnitAlignment elements, and the gaps are zero for ever.
struct UnitSpec {
  std::string name;
  std::vector<TensorSpec> tensors;
  std::int64_t trainable_numel = 0;  // padded; state arrays and gradients cover [0, this)
  std::int64_t numel = 0;            // padded; frozen tensors lie in [trainable_numel, this)
  // Needed through a whole forward and backward (embeddings, head): its weights are whole on every
  // rank, whatever the strategy.
  bool held_throughout = false;
  // Named arrays of the trainable range that the optimizer keeps.
  std::vector<std::string> state_arrays = {"master", "exp_avg", "exp_avg_sq"};

  // Errors: InvariantError when there is no such tensor.
  [[nodiscard]] std::size_t index_of(const std::string& tensor_name) const;
};

// 64 elements: every tensor starts at a multiple of 128 bytes in bf16, 256 in fp32.
inline constexpr std::int64_t kUnitAlignment = 64;

// Lays the tensors out. Order inside each half is kept.
UnitSpec make_unit(std::string name, std::vector<TensorSpec> tensors);

// The elements [begin, end) of a unit's trainable range that one of `num_shards` owns: equal
// pieces of `piece` elements (a multiple of kUnitAlignment), the last ones shorter or empty.
struct ShardRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t piece = 0;

  [[nodiscard]] std::int64_t numel() const noexcept { return end - begin; }
  bool operator==(const ShardRange&) const = default;
};
// Pieces of all shards together: what a collective moves.
std::int64_t padded_numel(const UnitSpec& unit, int num_shards);
ShardRange shard_range(const UnitSpec& unit, int shard_idx, int num_shards);

// Where a unit's numbers live and in what type.
struct UnitPlacement {
  at::Device device = at::kCPU;
  at::ScalarType compute_type = at::kFloat;  // bf16, fp32 or, in tests, fp64
  at::ScalarType state_type = at::kFloat;    // fp32, or fp64 in tests
  int shard_idx = 0;
  int num_shards = 1;
  // State arrays lie in host memory (parallel.offload), page-locked beside a GPU.
  bool state_on_host = false;
};

// The storage of one unit on one rank. Buffers may be absent (undefined tensors): the compute copy
// while the unit is not gathered, gradients before the first backward, state when only inference
// is wanted. Strategies allocate and release them; the model sees views.
class Unit {
 public:
  Unit(UnitSpec spec, const UnitPlacement& placement);

  [[nodiscard]] const UnitSpec& spec() const noexcept { return spec_; }
  [[nodiscard]] const UnitPlacement& placement() const noexcept { return placement_; }
  [[nodiscard]] const ShardRange& shard() const noexcept { return shard_; }

  // Zeroed buffers where they are absent, padded to equal pieces for all shards.
  void allocate_compute();
  void allocate_gradient();
  void allocate_state();

  // Flat buffers. Those of weights and gradients are at least as long as the trainable range: where
  // several shards make them up, as long as all their pieces.
  [[nodiscard]] at::Tensor& compute() noexcept { return compute_; }
  [[nodiscard]] at::Tensor& gradient() noexcept { return gradient_; }
  [[nodiscard]] at::Tensor& state(const std::string& array);  // (shard().numel())
  [[nodiscard]] std::map<std::string, at::Tensor>& states() noexcept { return states_; }

  // Views of one tensor, in its shape.
  [[nodiscard]] at::Tensor weight(std::size_t tensor_idx) const;
  // Accumulates over micro-steps in state_type. Undefined for a frozen tensor.
  [[nodiscard]] at::Tensor weight_gradient(std::size_t tensor_idx) const;

 private:
  UnitSpec spec_;
  UnitPlacement placement_;
  ShardRange shard_;
  at::Tensor compute_;
  at::Tensor frozen_;  // weights of the frozen tensors, whole on every rank
  at::Tensor gradient_;
  std::map<std::string, at::Tensor> states_;
};

}  // namespace wam
