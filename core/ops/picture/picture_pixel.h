#pragma once

// Colours of a pixel, or of a vector of pixels, for every form of transform_picture. All of it has
// internal linkage and no library header: see picture_loop.h.
//
// V has a type Values, and of it set, mul, add, sub, fma (a b + c), min, max, abs; and a type Mask
// with equal, less, and select (mask ? a : b).

#include "core/ops/picture/picture_job.h"

#ifdef __CUDACC__
#define WAM_PIXEL_FUNCTION __device__ __forceinline__
#else
// A call would pass its vectors through memory.
#define WAM_PIXEL_FUNCTION [[gnu::always_inline]] inline
#endif

namespace wam {
namespace {

template <class V>
struct Pixel {
  typename V::Values r, g, b;
};

// p / 255 with its rounding, for whole p: 1 / 255 in two parts.
template <class V>
WAM_PIXEL_FUNCTION typename V::Values unit_of_level(typename V::Values p) {
  return V::fma(p, V::set(0x1.010102p-8F), V::mul(p, V::set(-0x1.fdfdfep-33F)));
}

template <class V>
WAM_PIXEL_FUNCTION typename V::Values luma_of(const Pixel<V>& p) {
  return V::fma(p.b, V::set(0.114F), V::fma(p.g, V::set(0.587F), V::mul(p.r, V::set(0.2989F))));
}

template <class V>
WAM_PIXEL_FUNCTION typename V::Values clamped(typename V::Values p) {
  return V::min(V::max(p, V::set(0.0F)), V::set(1.0F));
}

// clamp(factor * p + rest * other)
template <class V>
WAM_PIXEL_FUNCTION Pixel<V> blended_with(const Pixel<V>& p,
                                         const JitterStep& step,
                                         typename V::Values other) {
  const auto factor = V::set(step.factor);
  const auto rest = V::set(step.rest);
  return {clamped<V>(V::fma(other, rest, V::mul(p.r, factor))),
          clamped<V>(V::fma(other, rest, V::mul(p.g, factor))),
          clamped<V>(V::fma(other, rest, V::mul(p.b, factor)))};
}

template <class V>
WAM_PIXEL_FUNCTION Pixel<V> brightened(const Pixel<V>& p, float factor) {
  const auto f = V::set(factor);
  const auto one = V::set(1.0F);
  return {V::min(V::mul(p.r, f), one), V::min(V::mul(p.g, f), one), V::min(V::mul(p.b, f), one)};
}

// How far a colour lies below the largest one, `away` being the distance of the hue from where the
// colour is full, in sixths of a turn times `range`: 0 to one sixth, then linear, `range` from two
// on.
template <class V>
WAM_PIXEL_FUNCTION typename V::Values drop_of(typename V::Values away, typename V::Values range) {
  return V::min(V::max(V::sub(away, range), V::set(0.0F)), range);
}

// RGB -> HSV, hue + turn, HSV -> RGB, without a division. With v the largest colour and C = v - the
// smallest, the hue in sixths of a turn is H / C, H = g - b, b - r + 2 C or r - g + 4 C as red,
// green or blue is the largest (in this order); and a colour is v - drop, red's drop measured from
// H = 0 or 6 C, green's from 2 C, blue's from 4 C. Largest and full colours come out exact.
template <class V>
WAM_PIXEL_FUNCTION Pixel<V> hue_turned(const Pixel<V>& p, float turn) {
  const auto value = V::max(p.r, V::max(p.g, p.b));
  const auto range = V::sub(value, V::min(p.r, V::min(p.g, p.b)));
  const auto range2 = V::add(range, range);
  const auto range4 = V::add(range2, range2);
  const auto range6 = V::add(range4, range2);
  const auto red_leads = V::equal(value, p.r);
  const auto green_leads = V::equal(value, p.g);
  auto h =
      V::select(green_leads, V::add(V::sub(p.b, p.r), range2), V::add(V::sub(p.r, p.g), range4));
  h = V::select(red_leads, V::sub(p.g, p.b), h);
  h = V::fma(range, V::set(6.0F * turn), h);
  h = V::select(V::less(h, V::set(0.0F)), V::add(h, range6), h);
  h = V::select(V::less(h, range6), h, V::sub(h, range6));
  // From 0 or 6 C, whichever is nearer, is 3 C less the distance from 3 C.
  const auto range3 = V::add(range2, range);
  const auto from_red = V::sub(range3, V::abs(V::sub(h, range3)));
  return {V::sub(value, drop_of<V>(from_red, range)),
          V::sub(value, drop_of<V>(V::abs(V::sub(h, range2)), range)),
          V::sub(value, drop_of<V>(V::abs(V::sub(h, range4)), range))};
}

// Steps [begin, end) of a jitter. `mean` is read by contrast alone.
template <class V>
WAM_PIXEL_FUNCTION Pixel<V> jittered(Pixel<V> p,
                                     const JitterStep* begin,
                                     const JitterStep* end,
                                     float mean) {
  for (const JitterStep* step = begin; step != end; ++step) {
    switch (step->op) {
      case JitterOp::kBrightness:
        p = brightened<V>(p, step->factor);
        break;
      case JitterOp::kContrast:
        p = blended_with<V>(p, *step, V::set(mean));
        break;
      case JitterOp::kSaturation:
        p = blended_with<V>(p, *step, luma_of<V>(p));
        break;
      case JitterOp::kHue:
        p = hue_turned<V>(p, step->factor);
        break;
    }
  }
  return p;
}

}  // namespace
}  // namespace wam
