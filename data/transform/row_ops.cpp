#include "data/transform/row_ops.h"

// One clone of each loop per vector unit, chosen when the program starts. The sanitizers' start-up
// does not survive such a choice.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__)
#define WAM_VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#define WAM_FMA_CLONES __attribute__((target_clones("avx512f", "fma", "default")))
#else
#define WAM_VECTOR_CLONES
#define WAM_FMA_CLONES
#endif

namespace wam {
namespace {

constexpr float kRedLuma = 0.2989F;
constexpr float kGreenLuma = 0.587F;
constexpr float kBlueLuma = 0.114F;

inline float clamp01(float x) {
  x = x < 0.0F ? 0.0F : x;
  return x > 1.0F ? 1.0F : x;
}

inline float luma(float r, float g, float b) {
  return r * kRedLuma + g * kGreenLuma + b * kBlueLuma;
}

}  // namespace

WAM_VECTOR_CLONES
void unpack_row(const std::uint8_t* rgb, const PlanarRow& out) {
  float* __restrict red = out.red;
  float* __restrict green = out.green;
  float* __restrict blue = out.blue;
  const std::int64_t width = out.width;
  for (std::int64_t x = 0; x < width; ++x) {
    red[x] = static_cast<float>(rgb[3 * x]) / 255.0F;
    green[x] = static_cast<float>(rgb[3 * x + 1]) / 255.0F;
    blue[x] = static_cast<float>(rgb[3 * x + 2]) / 255.0F;
  }
}

// The sums of a resize are fused as PyTorch's kernels have them: with rounded products, flat areas
// would fall below their level and lose a whole one when they are cut to uint8.
WAM_FMA_CLONES
void resize_row(const float* in, const ResizeAxis& axis, float* out) {
  const std::int32_t* __restrict first = axis.first.data();
  const float* __restrict weight = axis.weight.data();
  float* __restrict result = out;
  const std::int64_t width = axis.out;
  for (std::int64_t x = 0; x < width; ++x) result[x] = weight[x] * in[first[x]];
  for (std::int64_t tap = 1; tap < axis.taps; ++tap) {
    weight += width;
    const float* __restrict from = in + tap;
    for (std::int64_t x = 0; x < width; ++x) {
      result[x] = __builtin_fmaf(weight[x], from[first[x]], result[x]);
    }
  }
}

WAM_FMA_CLONES
void blend_rows(const float* rows,
                std::int64_t stride,
                const float* weights,
                std::int64_t taps,
                float* out,
                std::int64_t width) {
  float* __restrict result = out;
  for (std::int64_t x = 0; x < width; ++x) result[x] = weights[0] * rows[x];
  for (std::int64_t tap = 1; tap < taps; ++tap) {
    const float* __restrict from = rows + tap * stride;
    const float weight = weights[tap];
    for (std::int64_t x = 0; x < width; ++x) {
      result[x] = __builtin_fmaf(weight, from[x], result[x]);
    }
  }
}

WAM_VECTOR_CLONES
void brighten_row(const PlanarRow& row, float factor) {
  for (float* __restrict plane : {row.red, row.green, row.blue}) {
    for (std::int64_t x = 0; x < row.width; ++x) plane[x] = clamp01(factor * plane[x]);
  }
}

WAM_VECTOR_CLONES
void contrast_row(const PlanarRow& row, float factor, float mean) {
  const float rest = static_cast<float>(1.0 - static_cast<double>(factor)) * mean;
  for (float* __restrict plane : {row.red, row.green, row.blue}) {
    for (std::int64_t x = 0; x < row.width; ++x) plane[x] = clamp01(factor * plane[x] + rest);
  }
}

WAM_VECTOR_CLONES
void saturate_row(const PlanarRow& row, float factor) {
  const auto rest = static_cast<float>(1.0 - static_cast<double>(factor));
  float* __restrict red = row.red;
  float* __restrict green = row.green;
  float* __restrict blue = row.blue;
  const std::int64_t width = row.width;
  for (std::int64_t x = 0; x < width; ++x) {
    const float grey = rest * luma(red[x], green[x], blue[x]);
    red[x] = clamp01(factor * red[x] + grey);
    green[x] = clamp01(factor * green[x] + grey);
    blue[x] = clamp01(factor * blue[x] + grey);
  }
}

// RGB -> HSV, shift, HSV -> RGB. The largest channel decides the sector, red before green before
// blue; every choice is a select, so that the loop runs on vectors.
WAM_VECTOR_CLONES
void turn_hue_row(const PlanarRow& row, float shift) {
  float* __restrict red = row.red;
  float* __restrict green = row.green;
  float* __restrict blue = row.blue;
  const std::int64_t width = row.width;
  for (std::int64_t x = 0; x < width; ++x) {
    const float r = red[x];
    const float g = green[x];
    const float b = blue[x];
    const float gb_max = g > b ? g : b;
    const float gb_min = g < b ? g : b;
    const float v = r > gb_max ? r : gb_max;
    const float range = v - (r < gb_min ? r : gb_min);
    const bool grey = range == 0.0F;
    const float s = range / (grey ? 1.0F : v);
    const float divisor = grey ? 1.0F : range;
    const bool red_leads = v == r;
    const bool green_leads = v == g;
    const float sector = red_leads ? 0.0F : green_leads ? 2.0F : 4.0F;
    const float ahead = red_leads ? b : green_leads ? r : g;
    const float behind = red_leads ? g : green_leads ? b : r;
    float h = ((v - ahead) / divisor + sector) - (v - behind) / divisor;
    h = h * (1.0F / 6.0F) + 1.0F;
    h = h >= 1.0F ? h - 1.0F : h;
    h += shift;
    h = h < 0.0F ? h + 1.0F : h;
    h = h >= 1.0F ? h - 1.0F : h;
    const float h6 = h * 6.0F;
    const auto whole = static_cast<std::int32_t>(h6);
    const float f = h6 - static_cast<float>(whole);
    const std::int32_t i = whole >= 6 ? whole - 6 : whole;
    const float sf = s * f;
    const float q = clamp01((1.0F - sf) * v);
    const float t = clamp01((sf + (1.0F - s)) * v);
    const float p = clamp01((1.0F - s) * v);
    red[x] = i == 0 || i == 5 ? v : i == 1 ? q : i == 4 ? t : p;
    green[x] = i == 1 || i == 2 ? v : i == 3 ? q : i == 0 ? t : p;
    blue[x] = i == 3 || i == 4 ? v : i == 5 ? q : i == 2 ? t : p;
  }
}

WAM_VECTOR_CLONES
double luma_sum(const PlanarRow& row) {
  constexpr std::int64_t kLanes = 16;
  float lane[kLanes] = {};
  std::int64_t x = 0;
  for (; x + kLanes <= row.width; x += kLanes) {
    for (std::int64_t k = 0; k < kLanes; ++k) {
      lane[k] += luma(row.red[x + k], row.green[x + k], row.blue[x + k]);
    }
  }
  double sum = 0;
  for (const float value : lane) sum += static_cast<double>(value);
  for (; x < row.width; ++x) {
    sum += static_cast<double>(luma(row.red[x], row.green[x], row.blue[x]));
  }
  return sum;
}

WAM_VECTOR_CLONES
void pack_row(const PlanarRow& row, std::int64_t repeat, std::uint8_t* rgb) {
  std::uint8_t* __restrict out = rgb;
  if (repeat == 1) {
    for (std::int64_t x = 0; x < row.width; ++x) {
      out[3 * x] = static_cast<std::uint8_t>(static_cast<std::int32_t>(row.red[x] * 255.0F));
      out[3 * x + 1] = static_cast<std::uint8_t>(static_cast<std::int32_t>(row.green[x] * 255.0F));
      out[3 * x + 2] = static_cast<std::uint8_t>(static_cast<std::int32_t>(row.blue[x] * 255.0F));
    }
    return;
  }
  for (std::int64_t x = 0; x < row.width; ++x) {
    const auto r = static_cast<std::uint8_t>(static_cast<std::int32_t>(row.red[x] * 255.0F));
    const auto g = static_cast<std::uint8_t>(static_cast<std::int32_t>(row.green[x] * 255.0F));
    const auto b = static_cast<std::uint8_t>(static_cast<std::int32_t>(row.blue[x] * 255.0F));
    for (std::int64_t k = 0; k < repeat; ++k, out += 3) {
      out[0] = r;
      out[1] = g;
      out[2] = b;
    }
  }
}

}  // namespace wam
