#include "models/wam/leaves.h"

namespace wam {

Leaves::Leaves(const Unit& unit, Track track) : unit_(unit) {
  const auto& tensors = unit.spec().tensors;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    at::Tensor leaf = unit.weight(i).detach();
    if (track == Track::kYes) leaf.set_requires_grad(tensors[i].trainable);
    leaves_.push_back(std::move(leaf));
  }
}

const at::Tensor& Leaves::operator()(const std::string& name) const {
  return leaves_[unit_.spec().index_of(name)];
}

void Leaves::add_gradients() const {
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    if (!leaves_[i].requires_grad() || !leaves_[i].grad().defined()) continue;
    unit_.weight_gradient(i).add_(leaves_[i].grad());
  }
}

}  // namespace wam
