#include "core/train/sharding.h"

#include <ATen/core/grad_mode.h>

namespace wam {

void Sharding::publish_weights() {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < units().size(); ++i)
    shard_compute(i).copy_(units()[i].state("master"));
  share_weights();
}

}  // namespace wam
