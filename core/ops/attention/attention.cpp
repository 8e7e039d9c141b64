#include "core/ops/attention/attention.h"

#include "core/ops/attention/attention_plain.h"

namespace wam {

at::Tensor attention_forward(const at::Tensor& q_BLNK,
                             const at::Tensor& k_BMNK,
                             const at::Tensor& v_BMNK,
                             const AttentionOptions& options,
                             const at::Tensor& out_BLNK) {
  if (options.engine != nullptr) {
    return options.engine->forward(q_BLNK, k_BMNK, v_BMNK, options, out_BLNK);
  }
  return attention_forward_plain(q_BLNK, k_BMNK, v_BMNK, options, out_BLNK);
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

}  // namespace wam
