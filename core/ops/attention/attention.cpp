#include "core/ops/attention/attention.h"

#include "core/base/errors.h"
#include "core/ops/attention/attention_plain.h"
#include "core/ops/attention/cudnn_attention.h"

namespace wam {

void attention_forward(const at::Tensor& q_BLNK,
                       const at::Tensor& k_BMNK,
                       const at::Tensor& v_BMNK,
                       const AttentionOptions& options,
                       const at::Tensor& out_BLNK,
                       const at::Tensor& lse_BNL) {
  if (options.engine != nullptr) {
    options.engine->forward(q_BLNK, k_BMNK, v_BMNK, options, out_BLNK, lse_BNL);
    return;
  }
  attention_forward_plain(q_BLNK, k_BMNK, v_BMNK, options, out_BLNK, lse_BNL);
}

void attention_backward(const at::Tensor& dout_BLNK,
                        const at::Tensor& q_BLNK,
                        const at::Tensor& k_BMNK,
                        const at::Tensor& v_BMNK,
                        const at::Tensor& out_BLNK,
                        const at::Tensor& lse_BNL,
                        const AttentionOptions& options,
                        const AttentionGradients& gradients) {
  if (options.engine != nullptr) {
    options.engine->backward(dout_BLNK, q_BLNK, k_BMNK, v_BMNK, out_BLNK, lse_BNL, options,
                             gradients);
    return;
  }
  attention_backward_plain(dout_BLNK, q_BLNK, k_BMNK, v_BMNK, out_BLNK, lse_BNL, options,
                           gradients);
}

std::unique_ptr<AttentionEngine> make_attention_engine(at::Device device,
                                                       at::ScalarType type,
                                                       [[maybe_unused]] bool deterministic) {
  if (!device.is_cuda() || type != at::kBFloat16) return nullptr;
#ifdef WAM_WITH_CUDA
  return std::make_unique<CudnnAttention>(deterministic);
#else
  throw InvariantError("a GPU in a build without GPU support");
#endif
}

}  // namespace wam
