#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/ops/attention/attention.h"

namespace cudnn_frontend::graph {
class Graph;
}

namespace wam {

// One problem of attention as cuDNN sees it: what is asked, and the tensors that answer. Tensors
// are bf16 but for lse (fp32); those of the backward are undefined in a forward.
struct CudnnProblem {
  at::Tensor q_BLNK, k_BMNK, v_BMNK, out_BLNK, lse;
  at::Tensor dout_BLNK, dq_BLNK, dk_BMNK, dv_BMNK;
  at::Tensor key_bias_M;  // or undefined
  double scale = 1.0;
  bool deterministic = true;
  // Not empty: the samples' sequences, each with its own queries and keys.
  std::vector<AttentionSequence> sequences;

  [[nodiscard]] bool is_backward() const { return dout_BLNK.defined(); }
  // Everything that a plan depends on.
  [[nodiscard]] std::vector<std::int64_t> key() const;
  [[nodiscard]] std::string text() const;
};

// cuDNN's graph for the problems of one key, with the tables on the device that it reads.
class CudnnPlan {
 public:
  // Errors: DeviceError when cuDNN has no plan.
  explicit CudnnPlan(const CudnnProblem& problem);
  void run(const CudnnProblem& problem) const;

 private:
  void describe_forward(const CudnnProblem& problem);
  void describe_backward(const CudnnProblem& problem);
  void build();

  std::shared_ptr<cudnn_frontend::graph::Graph> graph_;
  std::int64_t workspace_bytes_ = 0;
  std::string text_;
  std::unordered_map<std::int64_t, at::Tensor> tables_;  // by the number of the graph's tensor
};

}  // namespace wam
