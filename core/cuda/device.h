#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <c10/core/Device.h>

namespace wam {

// The one place where the rest of the program asks about GPUs; a build without CUDA has the same
// functions.

// True when this build has CUDA support and a GPU answers.
bool gpu_available();

// Where the GPUs that this process sees sit on the PCI bus, by their index, as sysfs calls them:
// "0000:1b:00.0". Empty in a build without CUDA.
std::vector<std::string> gpu_bus_ids();

// What the numbers of a run depend on beside the seed: chosen once, before the first tensor.
struct DeviceOptions {
  c10::Device device = c10::kCPU;
  int cpu_threads = 0;        // for LibTorch's CPU kernels; 0: as many as cores are allowed
  bool deterministic = true;  // refuse library algorithms whose sums depend on timing
};
// Errors: DeviceError when the device cannot be used.
void prepare_device(const DeviceOptions& options);

// LibTorch's operations of this thread take no other threads from now on. For threads that work
// side by side: each would get a team of cpu_threads, which waits for its next piece by spinning
// and takes the cores from the others.
void compute_alone();

// "NVIDIA H200, 139.8 GiB" or "CPU, 2 threads".
std::string describe_device(c10::Device device);

// Largest number of bytes held so far: by tensors on a GPU, by the process on the CPU.
std::int64_t peak_memory_bytes(c10::Device device);
void reset_peak_memory(c10::Device device);

// Total and free bytes of the device. On the CPU the machine's memory: free is what the kernel says
// that processes can still have, caches of files included.
struct DeviceMemory {
  std::int64_t total_bytes = 0;
  std::int64_t free_bytes = 0;
};
DeviceMemory device_memory(c10::Device device);

// The host waits until all work on the device is done.
void synchronize_device(c10::Device device);

// "13.0" or "none".
std::string cuda_version();

}  // namespace wam
