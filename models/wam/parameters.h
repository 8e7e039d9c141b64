#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/ops/layer_norm/layer_norm.h"
#include "core/ops/linear/linear.h"
#include "core/ops/parameter.h"
#include "core/train/unit.h"
#include "models/wam/config.h"

namespace wam {

// The units of the transformer, in the order of use: "embeddings", "blocks.0" ..., "head". Tensor
// names are those of the DiT in a DreamZero checkpoint, without its prefix "action_head.model.";
// linear weights are (out, in), the category tensors of actions and states (1, in, out).
// Weight decay as in DreamZero's trainer: all but layer norms and names that hold "bias".
std::vector<UnitSpec> wam_units(const WamConfig& config);

// Tensors of one unit. q, k and v of a self attention stand next to each other.
std::vector<TensorSpec> embedding_tensors(const WamConfig& config);
std::vector<TensorSpec> block_tensors(const WamConfig& config, std::int64_t block_idx);
std::vector<TensorSpec> head_tensors(const WamConfig& config);

enum class WithGradients { kNo, kYes };

// Views of a unit's parameters by name.
class UnitParameters {
 public:
  UnitParameters(const Unit& unit, std::string prefix, WithGradients with_gradients)
      : unit_(unit), prefix_(std::move(prefix)), with_gradients_(with_gradients) {}

  [[nodiscard]] Parameter parameter(const std::string& name) const;
  [[nodiscard]] Linear linear(const std::string& name) const;
  [[nodiscard]] LayerNorm layer_norm(const std::string& name) const;

 private:
  const Unit& unit_;
  std::string prefix_;
  WithGradients with_gradients_;
};

// The parameters of one block, bound to the storage that its unit has right now.
struct BlockParameters {
  struct Attention {
    Linear q, k, v, o;
    Parameter norm_q, norm_k;
  };

  BlockParameters(const Unit& unit, std::int64_t block_idx, WithGradients with_gradients);

  Parameter modulation;  // (1, 6, D): shift, scale, gate, shift, scale, gate
  Attention self;
  LayerNorm norm3;
  Attention cross;
  Linear k_img, v_img;
  Parameter norm_k_img;
  Linear ffn_up, ffn_down;
};

}  // namespace wam
