// Time and memory of both encoders at the models' shapes, in bf16: kernel_models_vae "[speed]".

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <vector>

#include <ATen/ops/empty.h>

#include <fmt/core.h>

#include "core/cuda/device.h"
#include "models/vae/wan_vae.h"
#include "test/support/catch.h"

namespace wam {
namespace {

const at::Device kGpu(at::kCUDA, 0);

struct Work {
  const char* name;
  VaeConfig config;
  std::int64_t clips, rows, columns;
  double tflop;  // of one clip
};

double median_ms(const std::function<at::Tensor()>& encode) {
  std::vector<double> times;
  for (int i = 0; i < 8; ++i) {
    synchronize_device(kGpu);
    const auto start = std::chrono::steady_clock::now();
    encode();
    synchronize_device(kGpu);
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    if (i >= 3) times.push_back(time.count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void measure(const Work& work) {
  const FrozenSource source{.seed = 7, .path = {}, .prefix = {}};
  const WanVae vae(work.config, load_frozen(vae_tensors(work.config, VaeParts::kEncoder), source,
                                            {kGpu, at::kBFloat16}));
  const at::Tensor video = at::empty({work.clips, 3, 33, work.rows, work.columns},
                                     at::TensorOptions(kGpu).dtype(at::kBFloat16))
                               .uniform_(-1, 1);
  reset_peak_memory(kGpu);
  const double ms = median_ms([&] { return vae.encode(video); });
  const double gib = static_cast<double>(peak_memory_bytes(kGpu)) / (1 << 30);
  const double still_ms = median_ms([&] { return vae.encode_first_frame(video.select(2, 0), 33); });
  fmt::print(
      "{}, {} clips of 33 x {} x {}: {:.1f} ms, {:.0f} TFLOP/s, peak {:.2f} GiB; first frames "
      "{:.1f} ms\n",
      work.name, work.clips, work.rows, work.columns, ms,
      work.tflop * static_cast<double>(work.clips) / ms * 1e3, gib, still_ms);
  CHECK(ms > 0);
}

}  // namespace

TEST_CASE("Video VAE on a GPU: speed", "[.][speed]") {
  if (!gpu_available()) {
    std::puts("SKIPPED: no GPU");
    return;
  }
  measure({"Wan2.2 VAE", VaeConfig::wan22(), 32, 160, 320, 5.96});
  measure({"Wan2.1 VAE", VaeConfig::wan21(), 1, 352, 640, 37.74});
}

}  // namespace wam
