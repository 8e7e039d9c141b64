#pragma once

#include <memory>

#include <ATen/core/Tensor.h>

#include "core/ops/attention/attention.h"

namespace wam {

// Attention through cuDNN graphs: bf16 on a GPU, softmax and sums in fp32. Its twin is
// attention_plain.h.
//
// Why not ATen's cuDNN call: its backward gives other bits at every run, and PyTorch's
// deterministic switch does not reach it. Here `deterministic` selects cuDNN's ordered algorithm:
// 430 TFLOP/s instead of 529 for 1784 queries x 7945 keys, 40 heads, on an H200.
//
// A group in one call (cuDNN's ragged layout), H200, 24 heads, 10 sequences a sample of the 5B:
// forward 128 us instead of 193 for 8 samples, 31 instead of 108 for one; backward 460 instead of
// 551 and 82 instead of 215. For the 14B (up to 1784 x 7945): forward 2.6 ms instead of 3.0,
// backward 10.2 instead of 9.7 with a workspace of 11 GiB.
//
// Shape:  as attention.h, K a multiple of 8; key_bias in fp32, without sequences.
// Stream: ordered on LibTorch's current stream; nothing waits for the host.
// Errors: DeviceError when cuDNN has no plan for a shape.
// Threads: one.
class CudnnAttention : public AttentionEngine {
 public:
  explicit CudnnAttention(bool deterministic);
  ~CudnnAttention() override;
  CudnnAttention(const CudnnAttention&) = delete;
  CudnnAttention& operator=(const CudnnAttention&) = delete;
  CudnnAttention(CudnnAttention&&) = delete;
  CudnnAttention& operator=(CudnnAttention&&) = delete;

  void forward(const at::Tensor& q_BLNK,
               const at::Tensor& k_BMNK,
               const at::Tensor& v_BMNK,
               const AttentionOptions& options,
               const at::Tensor& out_BLNK,
               const at::Tensor& lse_BNL) override;
  void backward(const at::Tensor& dout_BLNK,
                const at::Tensor& q_BLNK,
                const at::Tensor& k_BMNK,
                const at::Tensor& v_BMNK,
                const at::Tensor& out_BLNK,
                const at::Tensor& lse_BNL,
                const AttentionOptions& options,
                const AttentionGradients& gradients) override;
  void forward_group(const std::vector<AttentionSequence>& sequences,
                     const at::Tensor& q_BLNK,
                     const at::Tensor& k_BMNK,
                     const at::Tensor& v_BMNK,
                     const AttentionOptions& options,
                     const at::Tensor& out_BLNK,
                     const at::Tensor& lse_BSNL) override;
  void backward_group(const std::vector<AttentionSequence>& sequences,
                      const at::Tensor& dout_BLNK,
                      const at::Tensor& q_BLNK,
                      const at::Tensor& k_BMNK,
                      const at::Tensor& v_BMNK,
                      const at::Tensor& out_BLNK,
                      const at::Tensor& lse_BSNL,
                      const AttentionOptions& options,
                      const AttentionGradients& gradients) override;

 private:
  struct Plans;
  std::unique_ptr<Plans> plans_;
  bool deterministic_;
};

}  // namespace wam
