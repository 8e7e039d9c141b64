#include "models/vae/causal_buffer.h"

#include <algorithm>

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

namespace wam {
namespace {

constexpr std::int64_t kHistory = 2;  // frames that a causal kernel of 3 looks back

void fill(at::Tensor to, const at::Tensor& from) {
  if (from.defined()) {
    to.copy_(from);
  } else {
    to.zero_();
  }
}

}  // namespace

CausalBuffer::CausalBuffer(const VaeContext& vae,
                           const std::string& prefix,
                           const at::Tensor& x_BCTHW,
                           const at::Tensor& slot)
    : side_by_side_(joins_frames(vae, prefix)) {
  const std::int64_t batch = x_BCTHW.size(0);
  const std::int64_t channels = x_BCTHW.size(1);
  const std::int64_t frames = x_BCTHW.size(2);
  buffer_ = at::empty({batch, side_by_side_ ? (kHistory + 1) * channels : channels,
                       frames + (side_by_side_ ? 0 : kHistory), x_BCTHW.size(3), x_BCTHW.size(4)},
                      x_BCTHW.options(), vae.format);
  frames_ = buffer_;
  if (side_by_side_) {
    put_before_side_by_side(channels, slot);
  } else {
    fill(buffer_.narrow(2, 0, kHistory), slot);
    frames_ = buffer_.narrow(2, kHistory, frames);
  }
}

// The frame `back` before frame t stands in channels [(2 - back) C, (3 - back) C) of frame t.
void CausalBuffer::put_before_side_by_side(std::int64_t channels, const at::Tensor& slot) {
  for (std::int64_t back = 1; back <= kHistory; ++back) {
    const std::int64_t missing = std::min(back, frames_.size(2));
    const at::Tensor before =
        slot.defined() ? slot.narrow(2, kHistory - back, missing) : at::Tensor();
    fill(frames_.narrow(1, (kHistory - back) * channels, channels).narrow(2, 0, missing), before);
  }
}

// A copy: a view would keep the whole buffer alive.
at::Tensor CausalBuffer::last_two_frames() const {
  const std::int64_t end = buffer_.size(2);
  if (!side_by_side_) return buffer_.narrow(2, end - kHistory, kHistory).clone();
  const std::int64_t channels = buffer_.size(1) / (kHistory + 1);
  const at::Tensor last = buffer_.narrow(2, end - 1, 1);
  return at::cat({last.narrow(1, channels, channels), last.narrow(1, 2 * channels, channels)}, 2);
}

ChannelTerms CausalBuffer::convolve(const VaeContext& vae,
                                    const std::string& prefix,
                                    at::Tensor& slot,
                                    const ClipMemory& memory) const {
  if (memory.in_pieces()) slot = last_two_frames();
  return conv_terms(vae, prefix, buffer_, {.padding = {0, 1, 1}});
}

}  // namespace wam
