#include "core/ops/channel_norm/channel_norm_launch.h"

#include <limits>

#include <fmt/ranges.h>

#include "core/base/errors.h"
#include "core/cuda/tensor_kernel.h"
#include "core/ops/channel_norm/channel_norm_kernel.h"

namespace wam {
namespace {

bool on_vectors(const at::Tensor& t) {
  return reinterpret_cast<std::uintptr_t>(t.const_data_ptr()) % 16 == 0;
}

const void* dense_rows(const at::Tensor& t_BCTHW, const at::Tensor& like, const char* name) {
  if (!t_BCTHW.defined()) return nullptr;
  require<InvariantError>(
      t_BCTHW.sizes() == like.sizes() && t_BCTHW.scalar_type() == like.scalar_type() &&
          t_BCTHW.is_contiguous(at::MemoryFormat::ChannelsLast3d) && on_vectors(t_BCTHW),
      "channel norm: {} of shape {} and strides {} is not dense channels last "
      "of shape {}",
      name, fmt::join(t_BCTHW.sizes(), "x"), fmt::join(t_BCTHW.strides(), ","),
      fmt::join(like.sizes(), "x"));
  return t_BCTHW.const_data_ptr();
}

const void* channel_row(const at::Tensor& t, const at::Tensor& like, const char* name) {
  if (!t.defined()) return nullptr;
  require<InvariantError>(t.numel() == like.size(1) && t.scalar_type() == like.scalar_type() &&
                              t.is_contiguous() && on_vectors(t),
                          "channel norm: {} of {} elements for {} channels", name, t.numel(),
                          like.size(1));
  return t.const_data_ptr();
}

ChannelRows output_rows(const at::Tensor& t_BCTHW, const at::Tensor& like, const char* name) {
  if (!t_BCTHW.defined()) return {};
  bool ok = t_BCTHW.sizes() == like.sizes() && t_BCTHW.scalar_type() == like.scalar_type() &&
            t_BCTHW.stride(1) == 1 && on_vectors(t_BCTHW);
  for (const std::int64_t d : {0, 2, 3, 4}) {
    ok = ok && (t_BCTHW.size(d) == 1 || t_BCTHW.stride(d) % kVectorElements == 0);
  }
  require<InvariantError>(ok, "channel norm: {} of shape {} and strides {} cannot take rows of {}",
                          name, fmt::join(t_BCTHW.sizes(), "x"), fmt::join(t_BCTHW.strides(), ","),
                          fmt::join(like.sizes(), "x"));
  return {t_BCTHW.mutable_data_ptr(), t_BCTHW.stride(0), t_BCTHW.stride(2), t_BCTHW.stride(3),
          t_BCTHW.stride(4)};
}

}  // namespace

void channel_norm_cuda(const ChannelTerms& terms,
                       const at::Tensor& gamma,
                       ChannelActivation activation,
                       const at::Tensor& sum_out_BCTHW,
                       const at::Tensor& normed_out_BCTHW) {
  const at::Tensor& x = terms.x_BCTHW;
  ChannelNormTask task;
  task.element = element_of(x);
  task.x = dense_rows(x, x, "x");
  task.skip = dense_rows(terms.skip_BCTHW, x, "skip");
  task.bias = channel_row(terms.bias, x, "bias");
  task.gamma = channel_row(gamma, x, "gamma");
  task.sum = output_rows(sum_out_BCTHW, x, "sum");
  task.normed = output_rows(normed_out_BCTHW, x, "normed");
  task.channels = x.size(1);
  task.positions = x.numel() / task.channels;
  task.frames = x.size(2);
  task.rows = x.size(3);
  task.columns = x.size(4);
  task.silu = activation == ChannelActivation::kSilu;
  require<InvariantError>(task.positions <= std::numeric_limits<std::int32_t>::max(),
                          "channel norm: {} positions in one call", task.positions);
  channel_norm_launch(task, current_stream());
}

}  // namespace wam
