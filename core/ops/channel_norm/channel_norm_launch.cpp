#include "core/ops/channel_norm/channel_norm_launch.h"

#include <limits>
#include <vector>

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

const void* channel_row(const at::Tensor& t,
                        at::ScalarType type,
                        std::int64_t channels,
                        const char* name) {
  if (!t.defined()) return nullptr;
  require<InvariantError>(
      t.numel() == channels && t.scalar_type() == type && t.is_contiguous() && on_vectors(t),
      "channel norm: {} of {} elements of {} for {} channels", name, t.numel(),
      c10::toString(t.scalar_type()), channels);
  return t.const_data_ptr();
}

// `places`: how many times the channels of `like` it holds.
ChannelRows output_rows(const at::Tensor& t_BCTHW,
                        const at::Tensor& like,
                        std::int64_t places,
                        const char* name) {
  if (!t_BCTHW.defined()) return {};
  std::vector<std::int64_t> shape = like.sizes().vec();
  shape[1] *= places;
  bool ok = t_BCTHW.sizes() == at::IntArrayRef(shape) &&
            t_BCTHW.scalar_type() == like.scalar_type() && t_BCTHW.stride(1) == 1 &&
            on_vectors(t_BCTHW);
  for (const std::int64_t d : {0, 2, 3, 4}) {
    ok = ok && (t_BCTHW.size(d) == 1 || t_BCTHW.stride(d) % kVectorElements == 0);
  }
  require<InvariantError>(ok, "channel norm: {} of shape {} and strides {} cannot take rows of {}",
                          name, fmt::join(t_BCTHW.sizes(), "x"), fmt::join(t_BCTHW.strides(), ","),
                          fmt::join(shape, "x"));
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
  task.bias = static_cast<const float*>(channel_row(terms.bias, at::kFloat, x.size(1), "bias"));
  task.gamma = channel_row(gamma, x.scalar_type(), x.size(1), "gamma");
  task.sum = output_rows(sum_out_BCTHW, x, 1, "sum");
  if (normed_out_BCTHW.defined()) {
    task.places = static_cast<int>(normed_out_BCTHW.size(1) / x.size(1));
    task.normed = output_rows(normed_out_BCTHW, x, task.places, "normed");
  }
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
