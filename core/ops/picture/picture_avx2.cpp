#include <immintrin.h>

#include "core/ops/picture/picture_loop.h"

namespace wam {
namespace {

struct Avx2 {
  using Values = __m256;
  using Mask = __m256;
  using Index = __m256i;
  static constexpr std::int64_t kWidth = 8;

  static Values set(float value) { return _mm256_set1_ps(value); }
  static Values load(const float* from) { return _mm256_loadu_ps(from); }
  static void store(float* to, Values x) { _mm256_storeu_ps(to, x); }
  static Values mul(Values a, Values b) { return _mm256_mul_ps(a, b); }
  static Values add(Values a, Values b) { return _mm256_add_ps(a, b); }
  static Values sub(Values a, Values b) { return _mm256_sub_ps(a, b); }
  static Values fma(Values a, Values b, Values c) { return _mm256_fmadd_ps(a, b, c); }
  static Values min(Values a, Values b) { return _mm256_min_ps(a, b); }
  static Values max(Values a, Values b) { return _mm256_max_ps(a, b); }
  static Values abs(Values a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0F), a); }
  static Mask equal(Values a, Values b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
  static Mask less(Values a, Values b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
  static Values select(Mask mask, Values a, Values b) { return _mm256_blendv_ps(b, a, mask); }

  static Index index(const std::int32_t* from, std::int32_t base) {
    const __m256i at = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return _mm256_sub_epi32(at, _mm256_set1_epi32(base));
  }
  template <int kReach>
  static Values pick(const float* from, Index at) {
    if constexpr (kReach == kAnywhere) return _mm256_i32gather_ps(from, at, 4);
    const Values low = _mm256_permutevar8x32_ps(load(from), at);
    if constexpr (kReach == 1) return low;
    const Values high = _mm256_permutevar8x32_ps(load(from + kWidth), at);
    const __m256i is_high = _mm256_cmpgt_epi32(at, _mm256_set1_epi32(7));
    return select(_mm256_castsi256_ps(is_high), high, low);
  }

  // 24 bytes, 12 in each half, then every third byte to a lane of its own.
  static Pixel<Avx2> load_levels(const std::uint8_t* from) {
    const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    const __m128i rest = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + 16));
    const __m256i packed = _mm256_set_m128i(rest, first);
    const __m256i halves =
        _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 1, 2, 0, 3, 4, 5, 0));
    return {colour(halves, 0), colour(halves, 1), colour(halves, 2)};
  }
  static void store_levels(const Pixel<Avx2>& p, std::uint8_t* to) {
    store_packed(packed_levels(p), to);
  }
  static void store_levels_twice(const Pixel<Avx2>& p, std::uint8_t* to) {
    const __m256i pixels = packed_levels(p);
    const __m256i low = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3);
    const __m256i high = _mm256_setr_epi32(4, 4, 5, 5, 6, 6, 7, 7);
    store_packed(_mm256_permutevar8x32_epi32(pixels, low), to);
    store_packed(_mm256_permutevar8x32_epi32(pixels, high), to + 24);
  }

 private:
  static Values colour(__m256i halves, std::int8_t c) {
    const auto at = [c](int i) { return static_cast<char>(3 * i + c); };
    const __m128i lane =
        _mm_setr_epi8(at(0), -1, -1, -1, at(1), -1, -1, -1, at(2), -1, -1, -1, at(3), -1, -1, -1);
    return _mm256_cvtepi32_ps(_mm256_shuffle_epi8(halves, _mm256_set_m128i(lane, lane)));
  }
  // R, G, B and a zero in every lane.
  static __m256i packed_levels(const Pixel<Avx2>& p) {
    const __m256i g = _mm256_slli_epi32(_mm256_cvttps_epi32(p.g), 8);
    const __m256i b = _mm256_slli_epi32(_mm256_cvttps_epi32(p.b), 16);
    return _mm256_or_si256(_mm256_cvttps_epi32(p.r), _mm256_or_si256(g, b));
  }
  static void store_packed(__m256i pixels, std::uint8_t* to) {
    const __m128i lane = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    const __m256i halves = _mm256_shuffle_epi8(pixels, _mm256_set_m128i(lane, lane));
    const __m256i bytes =
        _mm256_permutevar8x32_epi32(halves, _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 7, 7));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(bytes));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to + 16), _mm256_extracti128_si256(bytes, 1));
  }
};

}  // namespace

void transform_picture_avx2(const PictureJob& job) {
  PictureLoop<Avx2>(job).run();
}

}  // namespace wam
