// pinned.h in a build with CUDA.
#include "core/cuda/pinned.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <c10/util/accumulate.h>
#include <cuda_runtime.h>

#include <sys/mman.h>

#include "core/base/cores.h"
#include "core/base/errors.h"
#include "core/base/format.h"
#include "core/base/parallel.h"

namespace wam {
namespace {

constexpr std::int64_t kPageBytes = 4096;
constexpr std::int64_t kStretchBytes = std::int64_t{64} << 20;  // touched by one thread

[[noreturn]] void refuse(std::size_t bytes, const std::string& reason) {
  throw DeviceError(fmt::format(
      "allocating {} of page-locked host memory: {}. Fix: give the process more host memory.",
      human_bytes(static_cast<double>(bytes)), reason));
}

// Makes the kernel provide the pages, on the NUMA node of the cores that this process runs on.
void touch(std::byte* memory, std::size_t bytes) {
  for_each_piece(static_cast<std::int64_t>(bytes), kStretchBytes,
                 static_cast<unsigned>(allowed_cores().size()),
                 [&](std::int64_t begin, std::int64_t length) {
                   for (std::int64_t at = begin; at < begin + length; at += kPageBytes) {
                     *static_cast<volatile std::byte*>(memory + at) = std::byte{0};
                   }
                 });
}

}  // namespace

at::Tensor host_buffer(at::IntArrayRef sizes, at::ScalarType type, at::Device device) {
  const auto options = at::TensorOptions().dtype(type);
  const std::size_t bytes =
      static_cast<std::size_t>(c10::multiply_integers(sizes)) * c10::elementSize(type);
  if (device.is_cpu() || bytes == 0) return at::zeros(sizes, options);
  // cudaHostAlloc takes ten times as long: it touches small pages with one thread.
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) refuse(bytes, std::strerror(errno));
  madvise(memory, bytes, MADV_HUGEPAGE);  // where the kernel has them
  touch(static_cast<std::byte*>(memory), bytes);
  const cudaError_t result = cudaHostRegister(memory, bytes, cudaHostRegisterPortable);
  if (result != cudaSuccess) {
    cudaGetLastError();
    munmap(memory, bytes);
    refuse(bytes, cudaGetErrorString(result));
  }
  return at::from_blob(
      memory, sizes,
      [bytes](void* held) {
        cudaHostUnregister(held);
        munmap(held, bytes);
      },
      options);
}

}  // namespace wam
