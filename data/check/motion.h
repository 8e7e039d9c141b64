#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace wam {

// Finds where a camera's pictures stay as they are, or show one colour. A picture counts as changed
// when the mean brightness of any of its tiles is more than kMoved levels from that of the picture
// where the stretch began: noise of a sensor or a codec is averaged out, a small part of a robot is
// not.
class Motion {
 public:
  static constexpr int kMoved = 4;  // levels of 255
  static constexpr int kFlat = 4;   // levels between the tiles of a picture of one colour

  // The next pictures, (T, H, W, 3) uint8 contiguous.
  void add(const at::Tensor& rgb_THWC);

  [[nodiscard]] std::int64_t frames() const noexcept { return frames_; }
  // The longest stretch without a change, and where it begins.
  [[nodiscard]] std::int64_t still_frames() const noexcept { return longest_; }
  [[nodiscard]] std::int64_t still_begin() const noexcept { return longest_begin_; }
  // No picture shows anything.
  [[nodiscard]] bool is_blank() const noexcept { return frames_ > 0 && is_blank_; }

 private:
  void add_picture(const std::uint8_t* rgb, std::int64_t height, std::int64_t width);

  std::vector<int> began_;  // tiles of the picture where the stretch began
  std::vector<int> tiles_;
  std::int64_t begin_ = 0;
  std::int64_t frames_ = 0;
  std::int64_t longest_ = 0;
  std::int64_t longest_begin_ = 0;
  bool is_blank_ = true;
};

}  // namespace wam
