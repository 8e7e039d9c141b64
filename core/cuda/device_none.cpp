// device.h in a build without CUDA.
#include "core/base/errors.h"
#include "core/cuda/device_cpu.h"

namespace wam {

bool gpu_available() {
  return false;
}

std::vector<std::string> gpu_bus_ids() {
  return {};
}

void prepare_device(const DeviceOptions& options) {
  require<DeviceError>(options.device.is_cpu(),
                       "preparing {}: this build has no GPU support. Fix: build with WAM_CUDA=ON, "
                       "or set run.device: cpu.",
                       options.device.str());
  prepare_cpu(options);
}

std::string describe_device(c10::Device) {
  return describe_cpu();
}
std::int64_t peak_memory_bytes(c10::Device) {
  return process_peak_bytes();
}
void reset_peak_memory(c10::Device) {}
DeviceMemory device_memory(c10::Device) {
  return host_memory();
}
void synchronize_device(c10::Device) {}
std::string cuda_version() {
  return "none";
}

}  // namespace wam
