#pragma once

#include <cstdint>
#include <deque>

#include <ATen/core/Tensor.h>

namespace wam {

// B batch · C channel · T frame · H W row, column

// How one pass of the network goes through a clip's frames.
//
// In pieces: a clip may be cut after frame 0 and any multiple of four frames more; what the
// convolutions remember between pieces is kept here, one slot each in execution order.
//
// With a still end: from some frame on, all frames are equal. A tensor then holds the frames up to
// the first of these, which stands for the rest. A layer that looks back n frames sees n more
// different ones, so its input is drawn out by as many copies of the last frame first.
class ClipMemory {
 public:
  static ClipMemory whole() { return {Way::kWhole, 0}; }
  static ClipMemory pieces() { return {Way::kPieces, 0}; }
  // `frames`: of the whole clip.
  static ClipMemory still_end(std::int64_t frames) { return {Way::kStillEnd, frames}; }

  [[nodiscard]] bool in_pieces() const noexcept { return way_ == Way::kPieces; }
  [[nodiscard]] bool has_still_end() const noexcept { return way_ == Way::kStillEnd; }

  // Before each piece.
  void rewind() { next_ = 0; }
  // Undefined in the first piece. References stay valid.
  at::Tensor& slot();

  // x with `more` copies of its last frame, though not beyond the clip's end. x itself unless the
  // clip has a still end.
  [[nodiscard]] at::Tensor drawn_out(const at::Tensor& x_BCTHW, std::int64_t more) const;
  // After a layer that halves the frames after the first.
  void halve_frames() { frames_ = 1 + (frames_ - 1) / 2; }

 private:
  enum class Way : std::uint8_t { kWhole, kPieces, kStillEnd };
  ClipMemory(Way way, std::int64_t frames) : way_(way), frames_(frames) {}

  Way way_;
  std::int64_t frames_;
  std::deque<at::Tensor> slots_;
  std::size_t next_ = 0;
};

// x with `more` copies of its last frame behind it.
at::Tensor with_last_repeated(const at::Tensor& x_BCTHW, std::int64_t more);

}  // namespace wam
