#include <immintrin.h>

#include "core/ops/adamw/adamw_host_loop.h"
#include "core/ops/adamw/adamw_host_range.h"

namespace wam {
namespace {

struct Avx512 {
  using Values = __m512;
  static constexpr std::int64_t kWidth = 16;
  static Values set(float value) { return _mm512_set1_ps(value); }
  static Values load(const float* from) { return _mm512_loadu_ps(from); }
  static void store(float* to, Values x) { _mm512_storeu_ps(to, x); }
  static void store_bf16(std::uint16_t* to, Values x) {
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i up = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF)));
    const __mmask16 is_nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    const __m512i rounded = _mm512_mask_mov_epi32(up, is_nan, _mm512_set1_epi32(0x7FC00000));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16)));
  }
  static Values mul(Values a, Values b) { return _mm512_mul_ps(a, b); }
  static Values sub(Values a, Values b) { return _mm512_sub_ps(a, b); }
  static Values add(Values a, Values b) { return _mm512_add_ps(a, b); }
  static Values div(Values a, Values b) { return _mm512_div_ps(a, b); }
  static Values sqrt(Values a) { return _mm512_sqrt_ps(a); }
  static Values fma(Values a, Values b, Values c) { return _mm512_fmadd_ps(a, b, c); }
  static Values fnma(Values a, Values b, Values c) { return _mm512_fnmadd_ps(a, b, c); }
};

}  // namespace

void adamw_range_avx512(const AdamWUpdateArguments& arguments,
                        std::int64_t begin,
                        std::int64_t end) {
  update_range<Avx512>(arguments, begin, end);
}

}  // namespace wam
