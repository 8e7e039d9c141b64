#include <immintrin.h>

#include "core/ops/picture/picture_loop.h"

namespace wam {
namespace {

struct Avx512 {
  using Values = __m512;
  using Mask = __mmask16;
  using Index = __m512i;
  static constexpr std::int64_t kWidth = 16;

  static Values set(float value) { return _mm512_set1_ps(value); }
  static Values load(const float* from) { return _mm512_loadu_ps(from); }
  static void store(float* to, Values x) { _mm512_storeu_ps(to, x); }
  static Values mul(Values a, Values b) { return _mm512_mul_ps(a, b); }
  static Values add(Values a, Values b) { return _mm512_add_ps(a, b); }
  static Values sub(Values a, Values b) { return _mm512_sub_ps(a, b); }
  static Values fma(Values a, Values b, Values c) { return _mm512_fmadd_ps(a, b, c); }
  static Values min(Values a, Values b) { return _mm512_min_ps(a, b); }
  static Values max(Values a, Values b) { return _mm512_max_ps(a, b); }
  static Values abs(Values a) { return _mm512_abs_ps(a); }
  static Mask equal(Values a, Values b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
  static Mask less(Values a, Values b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
  static Values select(Mask mask, Values a, Values b) { return _mm512_mask_blend_ps(mask, b, a); }

  static Index index(const std::int32_t* from, std::int32_t base) {
    return _mm512_sub_epi32(_mm512_loadu_si512(from), _mm512_set1_epi32(base));
  }
  template <int kReach>
  static Values pick(const float* from, Index at) {
    if constexpr (kReach == kAnywhere) return _mm512_i32gather_ps(at, from, 4);
    if constexpr (kReach == 1) return _mm512_permutexvar_ps(at, load(from));
    return _mm512_permutex2var_ps(load(from), at, load(from + kWidth));
  }

  // 48 bytes, 12 in each quarter, then every third byte to a lane of its own.
  static Pixel<Avx512> load_levels(const std::uint8_t* from) {
    const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    const __m128i rest = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 32));
    const __m512i packed =
        _mm512_inserti64x4(_mm512_castsi256_si512(first), _mm256_castsi128_si256(rest), 1);
    const __m512i quarters = _mm512_permutexvar_epi32(
        _mm512_setr_epi32(0, 1, 2, 0, 3, 4, 5, 0, 6, 7, 8, 0, 9, 10, 11, 0), packed);
    return {colour(quarters, 0), colour(quarters, 1), colour(quarters, 2)};
  }
  static void store_levels(const Pixel<Avx512>& p, std::uint8_t* to) {
    store_packed(packed_levels(p), to);
  }
  static void store_levels_twice(const Pixel<Avx512>& p, std::uint8_t* to) {
    const __m512i pixels = packed_levels(p);
    const __m512i low = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
    store_packed(_mm512_permutexvar_epi32(low, pixels), to);
    store_packed(_mm512_permutexvar_epi32(high, pixels), to + 48);
  }

 private:
  static Values colour(__m512i quarters, std::int8_t c) {
    const auto at = [c](int i) { return static_cast<char>(3 * i + c); };
    const __m128i lane =
        _mm_setr_epi8(at(0), -1, -1, -1, at(1), -1, -1, -1, at(2), -1, -1, -1, at(3), -1, -1, -1);
    return _mm512_cvtepi32_ps(_mm512_shuffle_epi8(quarters, _mm512_broadcast_i32x4(lane)));
  }
  // R, G, B and a zero in every lane.
  static __m512i packed_levels(const Pixel<Avx512>& p) {
    const __m512i g = _mm512_slli_epi32(_mm512_cvttps_epi32(p.g), 8);
    const __m512i b = _mm512_slli_epi32(_mm512_cvttps_epi32(p.b), 16);
    return _mm512_or_si512(_mm512_cvttps_epi32(p.r), _mm512_or_si512(g, b));
  }
  static void store_packed(__m512i pixels, std::uint8_t* to) {
    const __m128i lane = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    const __m512i quarters = _mm512_shuffle_epi8(pixels, _mm512_broadcast_i32x4(lane));
    const __m512i bytes = _mm512_permutexvar_epi32(
        _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 15, 15, 15, 15), quarters);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_castsi512_si256(bytes));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 32), _mm512_extracti32x4_epi32(bytes, 2));
  }
};

}  // namespace

void transform_picture_avx512(const PictureJob& job) {
  PictureLoop<Avx512>(job).run();
}

}  // namespace wam
