#include <immintrin.h>

#include "core/ops/adamw/adamw_host_loop.h"
#include "core/ops/adamw/adamw_host_range.h"

namespace wam {
namespace {

struct Avx2 {
  using Values = __m256;
  static constexpr std::int64_t kWidth = 8;
  static Values set(float value) { return _mm256_set1_ps(value); }
  static Values load(const float* from) { return _mm256_loadu_ps(from); }
  static void store(float* to, Values x) { _mm256_storeu_ps(to, x); }
  static void store_bf16(std::uint16_t* to, Values x) {
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i up = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF)));
    const __m256 is_nan = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
    const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7FC00000));
    const __m256 rounded = _mm256_blendv_ps(_mm256_castsi256_ps(up), nan, is_nan);
    const __m256i high = _mm256_srli_epi32(_mm256_castps_si256(rounded), 16);
    const __m128i packed =
        _mm_packus_epi32(_mm256_castsi256_si128(high), _mm256_extracti128_si256(high, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), packed);
  }
  static Values mul(Values a, Values b) { return _mm256_mul_ps(a, b); }
  static Values sub(Values a, Values b) { return _mm256_sub_ps(a, b); }
  static Values add(Values a, Values b) { return _mm256_add_ps(a, b); }
  static Values div(Values a, Values b) { return _mm256_div_ps(a, b); }
  static Values sqrt(Values a) { return _mm256_sqrt_ps(a); }
  static Values fma(Values a, Values b, Values c) { return _mm256_fmadd_ps(a, b, c); }
  static Values fnma(Values a, Values b, Values c) { return _mm256_fnmadd_ps(a, b, c); }
};

}  // namespace

void adamw_range_avx2(const AdamWUpdateArguments& arguments, std::int64_t begin, std::int64_t end) {
  update_range<Avx2>(arguments, begin, end);
}

}  // namespace wam
