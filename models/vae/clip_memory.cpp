#include "models/vae/clip_memory.h"

#include <algorithm>
#include <vector>

#include <ATen/ops/empty.h>

namespace wam {

at::Tensor& ClipMemory::slot() {
  if (next_ == slots_.size()) slots_.emplace_back();
  return slots_[next_++];
}

at::Tensor ClipMemory::drawn_out(const at::Tensor& x_BCTHW, std::int64_t more) const {
  if (!has_still_end()) return x_BCTHW;
  return with_last_repeated(x_BCTHW, std::min(more, frames_ - x_BCTHW.size(2)));
}

at::Tensor with_last_repeated(const at::Tensor& x_BCTHW, std::int64_t more) {
  if (more == 0) return x_BCTHW;
  const std::int64_t frames = x_BCTHW.size(2);
  std::vector<std::int64_t> shape = x_BCTHW.sizes().vec();
  shape[2] += more;
  at::Tensor out = at::empty(shape, x_BCTHW.options(), x_BCTHW.suggest_memory_format());
  out.narrow(2, 0, frames).copy_(x_BCTHW);
  out.narrow(2, frames, more).copy_(x_BCTHW.narrow(2, frames - 1, 1));
  return out;
}

}  // namespace wam
