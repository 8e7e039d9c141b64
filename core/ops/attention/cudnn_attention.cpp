#include "core/ops/attention/cudnn_attention.h"

#include <map>

#include "core/ops/attention/cudnn_plan.h"

namespace wam {

struct CudnnAttention::Plans {
  std::map<std::vector<std::int64_t>, CudnnPlan> by_key;

  void run(const CudnnProblem& problem) {
    const auto key = problem.key();
    auto found = by_key.find(key);
    if (found == by_key.end()) found = by_key.emplace(key, problem).first;
    found->second.run(problem);
  }
};

CudnnAttention::CudnnAttention(bool deterministic)
    : plans_(std::make_unique<Plans>()), deterministic_(deterministic) {}
CudnnAttention::~CudnnAttention() = default;

void CudnnAttention::forward(const at::Tensor& q_BLNK,
                             const at::Tensor& k_BMNK,
                             const at::Tensor& v_BMNK,
                             const AttentionOptions& options,
                             const at::Tensor& out_BLNK,
                             const at::Tensor& lse_BNL) {
  forward_group({}, q_BLNK, k_BMNK, v_BMNK, options, out_BLNK, lse_BNL);
}

void CudnnAttention::backward(const at::Tensor& dout_BLNK,
                              const at::Tensor& q_BLNK,
                              const at::Tensor& k_BMNK,
                              const at::Tensor& v_BMNK,
                              const at::Tensor& out_BLNK,
                              const at::Tensor& lse_BNL,
                              const AttentionOptions& options,
                              const AttentionGradients& gradients) {
  // cuDNN 9.19 wants it packed.
  backward_group({}, dout_BLNK, q_BLNK, k_BMNK, v_BMNK, out_BLNK, lse_BNL.contiguous(), options,
                 gradients);
}

void CudnnAttention::forward_group(const std::vector<AttentionSequence>& sequences,
                                   const at::Tensor& q_BLNK,
                                   const at::Tensor& k_BMNK,
                                   const at::Tensor& v_BMNK,
                                   const AttentionOptions& options,
                                   const at::Tensor& out_BLNK,
                                   const at::Tensor& lse) {
  CudnnProblem problem;
  problem.q_BLNK = q_BLNK;
  problem.k_BMNK = k_BMNK;
  problem.v_BMNK = v_BMNK;
  problem.out_BLNK = out_BLNK;
  problem.lse = lse;
  problem.key_bias_M = options.key_bias_M;
  problem.scale = options.scale;
  problem.sequences = sequences;
  plans_->run(problem);
}

void CudnnAttention::backward_group(const std::vector<AttentionSequence>& sequences,
                                    const at::Tensor& dout_BLNK,
                                    const at::Tensor& q_BLNK,
                                    const at::Tensor& k_BMNK,
                                    const at::Tensor& v_BMNK,
                                    const at::Tensor& out_BLNK,
                                    const at::Tensor& lse,
                                    const AttentionOptions& options,
                                    const AttentionGradients& gradients) {
  CudnnProblem problem;
  problem.q_BLNK = q_BLNK;
  problem.k_BMNK = k_BMNK;
  problem.v_BMNK = v_BMNK;
  problem.out_BLNK = out_BLNK;
  problem.lse = lse;
  problem.dout_BLNK = dout_BLNK;
  problem.dq_BLNK = gradients.dq_BLNK;
  problem.dk_BMNK = gradients.dk_BMNK;
  problem.dv_BMNK = gradients.dv_BMNK;
  problem.key_bias_M = options.key_bias_M;
  problem.scale = options.scale;
  problem.deterministic = deterministic_;
  problem.sequences = sequences;
  plans_->run(problem);
}

}  // namespace wam
