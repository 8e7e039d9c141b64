#include <cmath>
#include <cstring>

#include "core/ops/adamw/adamw_host_loop.h"
#include "core/ops/adamw/adamw_host_range.h"

namespace wam {
namespace {

struct Scalar {
  using Values = float;
  static constexpr std::int64_t kWidth = 1;
  static Values set(float value) { return value; }
  static Values load(const float* from) { return *from; }
  static void store(float* to, Values x) { *to = x; }
  static void store_bf16(std::uint16_t* to, Values x) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &x, sizeof(bits));
    bits = std::isnan(x) ? 0x7FC00000U : bits + 0x7FFFU + (bits >> 16U & 1U);
    *to = static_cast<std::uint16_t>(bits >> 16U);
  }
  static Values mul(Values a, Values b) { return a * b; }
  static Values sub(Values a, Values b) { return a - b; }
  static Values add(Values a, Values b) { return a + b; }
  static Values div(Values a, Values b) { return a / b; }
  static Values sqrt(Values a) { return std::sqrt(a); }
  static Values fma(Values a, Values b, Values c) { return std::fma(a, b, c); }
  static Values fnma(Values a, Values b, Values c) { return std::fma(-a, b, c); }
};

}  // namespace

void adamw_range_scalar(const AdamWUpdateArguments& arguments,
                        std::int64_t begin,
                        std::int64_t end) {
  update_range<Scalar>(arguments, begin, end);
}

}  // namespace wam
