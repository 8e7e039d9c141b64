// The CPU's share of device.h, used by builds with and without CUDA.
#include "core/cuda/device_cpu.h"

#include <fstream>
#include <string>

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <dlfcn.h>
#include <fmt/core.h>
#include <sched.h>
#include <sys/resource.h>

#include "core/base/errors.h"

namespace wam {
namespace {

int allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return CPU_COUNT(&set);
}

}  // namespace

void prepare_cpu(const DeviceOptions& options) {
  at::set_num_threads(options.cpu_threads > 0 ? options.cpu_threads : allowed_cores());
  at::globalContext().setDeterministicAlgorithms(options.deterministic, /*warn_only=*/false);
  // Filling fresh memory is for finding bugs, and costs a pass over every buffer.
  at::globalContext().setDeterministicFillUninitializedMemory(false);
}

void compute_alone() {
  static_cast<void>(at::get_num_threads());  // which sets the number for a thread that is new
  // LibTorch's own call would set it for threads to come as well. Its OpenMP is asked by name:
  // there is no header of it that fits every compiler's.
  using SetThreads = void (*)(int);
  const auto set = reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  if (set != nullptr) set(1);
  invariant(at::get_num_threads() == 1, "a thread that computes alone");
}

std::string describe_cpu() {
  return fmt::format("CPU, {} threads", at::get_num_threads());
}

std::int64_t process_peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

DeviceMemory host_memory() {
  DeviceMemory memory;
  std::ifstream lines("/proc/meminfo");  // "MemAvailable:   24028384 kB"
  for (std::string line; std::getline(lines, line);) {
    const auto colon = line.find(':');
    const std::string name = line.substr(0, colon);
    if (name != "MemTotal" && name != "MemAvailable") continue;
    const std::int64_t bytes = std::stoll(line.substr(colon + 1)) * 1024;
    (name == "MemTotal" ? memory.total_bytes : memory.free_bytes) = bytes;
  }
  return memory;
}

}  // namespace wam
