#include "apps/wamtrain/version.h"

#include <torch/headeronly/version.h>

#include <fmt/core.h>

#include "core/cuda/device.h"

namespace wam {

std::string version_line() {
  return fmt::format("wamtrain {} ({})", WAM_VERSION, kCommit);
}

std::string version_text() {
  return fmt::format(
      "wamtrain {}\ncommit    {}\nLibTorch  {}\nCUDA      {}\nbuild     {}, g++ {}\n", WAM_VERSION,
      kCommit, TORCH_VERSION, cuda_version(), WAM_BUILD_TYPE, __VERSION__);
}

}  // namespace wam
