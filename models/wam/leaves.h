#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/train/unit.h"

namespace wam {

// A unit's parameters as leaves of LibTorch's graph: views of its compute copy that collect
// `.grad`. Used for the parts outside the blocks. The unit must stay acquired while the leaves
// live.
class Leaves {
 public:
  enum class Track { kNo, kYes };

  Leaves(const Unit& unit, Track track);

  // Errors: InvariantError when the unit has no such tensor.
  [[nodiscard]] const at::Tensor& operator()(const std::string& name) const;
  // Adds each `.grad` to the unit's gradient buffer. Parameters that took no part add nothing.
  void add_gradients() const;

 private:
  const Unit& unit_;
  std::vector<at::Tensor> leaves_;
};

}  // namespace wam
