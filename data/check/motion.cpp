#include "data/check/motion.h"

#include <algorithm>
#include <cstdlib>

namespace wam {
namespace {

constexpr std::int64_t kTile = 8;  // pixels

// Mean of green, which is most of the brightness, of every tile.
void tile_means(const std::uint8_t* rgb,
                std::int64_t height,
                std::int64_t width,
                std::vector<int>& out) {
  out.clear();
  for (std::int64_t top = 0; top < height; top += kTile) {
    const std::int64_t bottom = std::min(top + kTile, height);
    for (std::int64_t left = 0; left < width; left += kTile) {
      const std::int64_t right = std::min(left + kTile, width);
      int sum = 0;
      for (std::int64_t y = top; y < bottom; ++y) {
        for (std::int64_t x = left; x < right; ++x) sum += rgb[3 * (y * width + x) + 1];
      }
      out.push_back(sum / static_cast<int>((bottom - top) * (right - left)));
    }
  }
}

}  // namespace

void Motion::add(const at::Tensor& rgb_THWC) {
  const auto* data = rgb_THWC.const_data_ptr<std::uint8_t>();
  for (std::int64_t t = 0; t < rgb_THWC.size(0); ++t) {
    add_picture(data + t * rgb_THWC.size(1) * rgb_THWC.size(2) * 3, rgb_THWC.size(1),
                rgb_THWC.size(2));
  }
}

void Motion::add_picture(const std::uint8_t* rgb, std::int64_t height, std::int64_t width) {
  tile_means(rgb, height, width, tiles_);
  const auto [low, high] = std::minmax_element(tiles_.begin(), tiles_.end());
  is_blank_ = is_blank_ && *high - *low < kFlat;
  bool changed = tiles_.size() != began_.size();
  for (std::size_t i = 0; i < tiles_.size() && !changed; ++i) {
    changed = std::abs(tiles_[i] - began_[i]) > kMoved;
  }
  if (changed) {
    began_ = tiles_;
    begin_ = frames_;
  }
  ++frames_;
  if (frames_ - begin_ <= longest_) return;
  longest_ = frames_ - begin_;
  longest_begin_ = begin_;
}

}  // namespace wam
