#pragma once

// The one form of transform_picture on the host, for any width of vector; included by a source for
// each instruction set. All of it has internal linkage: code that was compiled for one set must not
// be taken for another by the linker. For the same reason such a source includes no library header
// that has inline functions.

#include <cstdint>

#include "core/ops/picture/picture_job.h"
#include "core/ops/picture/picture_pixel.h"

namespace wam {
namespace {

// V as picture_pixel.h wants it, with kWidth values, and of it
//   load, store          floats, any alignment
//   load_levels          kWidth RGB pixels of 8 bits as whole numbers
//   store_levels         the reverse, cut; store_levels_twice writes every pixel twice
//   Index, index         kWidth whole numbers, from memory
//   pick<kReach>         values at `index` from an address; every index is below kReach * kWidth,
//                        or anything when kReach is kAnywhere
constexpr int kAnywhere = 0;

template <class V>
WAM_PIXEL_FUNCTION Pixel<V> load_pixel(const float* from, std::int64_t plane) {
  return {V::load(from), V::load(from + plane), V::load(from + 2 * plane)};
}

template <class V>
WAM_PIXEL_FUNCTION void store_pixel(const Pixel<V>& p, float* to, std::int64_t plane) {
  V::store(to, p.r);
  V::store(to + plane, p.g);
  V::store(to + 2 * plane, p.b);
}

// A row of the crop as three planes in [0, 1].
template <class V>
void unpack_row(const std::uint8_t* from, std::int64_t width, float* to, std::int64_t plane) {
  for (std::int64_t x = 0; x < width; x += V::kWidth) {
    const std::uint8_t* levels = from + 3 * x;
    std::uint8_t tail[3 * V::kWidth] = {};
    if (x + V::kWidth > width) {
      for (std::int64_t i = 0; i < 3 * (width - x); ++i) tail[i] = levels[i];
      levels = tail;
    }
    Pixel<V> p = V::load_levels(levels);
    p = {unit_of_level<V>(p.r), unit_of_level<V>(p.g), unit_of_level<V>(p.b)};
    store_pixel<V>(p, to + x, plane);
  }
}

// The same row in the output's width.
template <class V, int kReach>
void resize_columns(const PictureAxis& axis,
                    const float* from,
                    std::int64_t from_plane,
                    float* to,
                    std::int64_t to_plane) {
  for (std::int64_t x = 0; x < to_plane; x += V::kWidth) {
    // Vectors are picked from where the first of them starts.
    const std::int32_t first = axis.first[x];
    const auto index = V::index(axis.first + x, first);
    const float* at = from + first;
    const auto weight = V::load(axis.weight + x);
    Pixel<V> sum = {V::mul(weight, V::template pick<kReach>(at, index)),
                    V::mul(weight, V::template pick<kReach>(at + from_plane, index)),
                    V::mul(weight, V::template pick<kReach>(at + 2 * from_plane, index))};
    for (std::int64_t tap = 1; tap < axis.taps; ++tap) {
      const auto w = V::load(axis.weight + tap * axis.stride + x);
      ++at;
      sum = {V::fma(w, V::template pick<kReach>(at, index), sum.r),
             V::fma(w, V::template pick<kReach>(at + from_plane, index), sum.g),
             V::fma(w, V::template pick<kReach>(at + 2 * from_plane, index), sum.b)};
    }
    store_pixel<V>(sum, to + x, to_plane);
  }
}

// In how many vectors the taps of a vector of outputs lie.
template <class V>
int reach_of(const PictureAxis& axis) {
  std::int64_t farthest = 0;
  for (std::int64_t x = 0; x < padded_columns(axis.out); x += V::kWidth) {
    const std::int64_t span = axis.first[x + V::kWidth - 1] - axis.first[x];
    farthest = span > farthest ? span : farthest;
  }
  const std::int64_t vectors = farthest / V::kWidth + 1;
  return vectors <= 2 ? static_cast<int>(vectors) : kAnywhere;
}

template <class V>
class PictureLoop {
 public:
  explicit PictureLoop(const PictureJob& job)
      : job_(job),
        scratch_(picture_scratch(job.rows, job.columns)),
        reach_(reach_of<V>(job.columns)),
        contrast_(job.step),
        end_(job.step + job.steps) {
    while (contrast_ != end_ && contrast_->op != JitterOp::kContrast) ++contrast_;
  }

  void run() {
    if (contrast_ == end_) {
      for (std::int64_t y = 0; y < job_.rows.out; ++y) {
        make_rows(y);
        finish_resized(y);
      }
      return;
    }
    // Contrast needs the mean of the whole picture after the steps before it.
    for (std::int64_t y = 0; y < job_.rows.out; ++y) {
      make_rows(y);
      keep_resized(y);
    }
    const float mean = mean_luma();
    for (std::int64_t y = 0; y < job_.rows.out; ++y) finish_kept(y, mean);
  }

 private:
  [[nodiscard]] float* ring_row(std::int64_t slot) const {
    return job_.scratch + scratch_.ring + slot * 3 * scratch_.narrow_plane;
  }

  // The taps of output row `y` lie in the ring.
  void make_rows(std::int64_t y) {
    const std::int64_t first = job_.rows.first[y];
    if (made_ < first) made_ = first;
    for (; made_ < first + job_.rows.taps; ++made_) {
      float* row = job_.scratch;
      unpack_row<V>(job_.from + made_ * job_.from_stride, job_.columns.in, row, scratch_.row_plane);
      narrow(row, ring_row(made_ % job_.rows.taps));
    }
  }

  void narrow(const float* row, float* to) const {
    const std::int64_t from_plane = scratch_.row_plane;
    const std::int64_t to_plane = scratch_.narrow_plane;
    if (reach_ == 1) {
      resize_columns<V, 1>(job_.columns, row, from_plane, to, to_plane);
    } else if (reach_ == 2) {
      resize_columns<V, 2>(job_.columns, row, from_plane, to, to_plane);
    } else {
      resize_columns<V, kAnywhere>(job_.columns, row, from_plane, to, to_plane);
    }
  }

  // Pixels [x, x + kWidth) of output row `y`, whose first tap lies in `slot` of the ring.
  [[nodiscard, gnu::always_inline]] inline Pixel<V> resized(std::int64_t y,
                                                            std::int64_t slot,
                                                            std::int64_t x) const {
    const std::int64_t taps = job_.rows.taps;
    const std::int64_t plane = scratch_.narrow_plane;
    const float* weight = job_.rows.weight + y;
    Pixel<V> p = load_pixel<V>(ring_row(slot) + x, plane);
    const auto w0 = V::set(*weight);
    p = {V::mul(w0, p.r), V::mul(w0, p.g), V::mul(w0, p.b)};
    for (std::int64_t tap = 1; tap < taps; ++tap) {
      slot = slot + 1 == taps ? 0 : slot + 1;
      weight += job_.rows.stride;
      const auto w = V::set(*weight);
      const Pixel<V> row = load_pixel<V>(ring_row(slot) + x, plane);
      p = {V::fma(w, row.r, p.r), V::fma(w, row.g, p.g), V::fma(w, row.b, p.b)};
    }
    return p;
  }

  [[nodiscard]] std::int64_t first_slot(std::int64_t y) const {
    return job_.rows.first[y] % job_.rows.taps;
  }

  void finish_resized(std::int64_t y) const {
    const std::int64_t slot = first_slot(y);
    for (std::int64_t x = 0; x < job_.columns.out; x += V::kWidth) {
      write(jittered<V>(resized(y, slot, x), job_.step, end_, 0), y, x);
    }
    repeat_row(y);
  }

  [[nodiscard]] float* kept_row(std::int64_t y) const {
    return job_.scratch + scratch_.picture + y * scratch_.narrow_plane;
  }
  [[nodiscard]] std::int64_t kept_plane() const { return job_.rows.out * scratch_.narrow_plane; }

  // Luma adds up in 16 columns, of a row in float32, then in double; columns that pad a row are
  // black.
  void keep_resized(std::int64_t y) {
    const std::int64_t slot = first_slot(y);
    float luma[kPictureColumns] = {};
    for (std::int64_t x = 0; x < scratch_.narrow_plane; x += V::kWidth) {
      const Pixel<V> p = jittered<V>(resized(y, slot, x), job_.step, contrast_, 0);
      store_pixel<V>(p, kept_row(y) + x, kept_plane());
      float* sum = luma + x % kPictureColumns;
      V::store(sum, V::add(V::load(sum), luma_of<V>(p)));
    }
    for (std::int64_t i = 0; i < kPictureColumns; ++i) luma_[i] += static_cast<double>(luma[i]);
  }

  [[nodiscard]] float mean_luma() const {
    double sum = 0;
    for (const double luma : luma_) sum += luma;
    return static_cast<float>(sum / static_cast<double>(job_.rows.out * job_.columns.out));
  }

  void finish_kept(std::int64_t y, float mean) const {
    for (std::int64_t x = 0; x < job_.columns.out; x += V::kWidth) {
      const Pixel<V> p = load_pixel<V>(kept_row(y) + x, kept_plane());
      write(jittered<V>(p, contrast_, end_, mean), y, x);
    }
    repeat_row(y);
  }

  [[nodiscard]] std::uint8_t* target_row(std::int64_t y) const {
    return job_.to + y * job_.repeat_rows * job_.to_stride;
  }

  [[gnu::always_inline]] inline void write(const Pixel<V>& p,
                                           std::int64_t y,
                                           std::int64_t x) const {
    const auto scale = V::set(255.0F);
    const Pixel<V> levels = {V::mul(p.r, scale), V::mul(p.g, scale), V::mul(p.b, scale)};
    std::uint8_t* to = target_row(y) + 3 * x * job_.repeat_columns;
    const bool whole = x + V::kWidth <= job_.columns.out;
    if (whole && job_.repeat_columns == 1) return V::store_levels(levels, to);
    if (whole && job_.repeat_columns == 2) return V::store_levels_twice(levels, to);
    std::uint8_t pixels[3 * V::kWidth];
    V::store_levels(levels, pixels);
    for (std::int64_t i = 0; i < V::kWidth && x + i < job_.columns.out; ++i) {
      for (std::int64_t k = 0; k < job_.repeat_columns; ++k, to += 3) {
        for (std::int64_t c = 0; c < 3; ++c) to[c] = pixels[3 * i + c];
      }
    }
  }

  void repeat_row(std::int64_t y) const {
    const std::uint8_t* row = target_row(y);
    const std::int64_t bytes = 3 * job_.columns.out * job_.repeat_columns;
    for (std::int64_t k = 1; k < job_.repeat_rows; ++k) {
      std::uint8_t* copy = target_row(y) + k * job_.to_stride;
      for (std::int64_t i = 0; i < bytes; ++i) copy[i] = row[i];
    }
  }

  const PictureJob& job_;
  const PictureScratch scratch_;
  const int reach_;
  const JitterStep* contrast_;  // the step, or the end
  const JitterStep* end_;
  std::int64_t made_ = 0;  // rows of the crop that have been narrowed
  double luma_[kPictureColumns] = {};
};

}  // namespace
}  // namespace wam
