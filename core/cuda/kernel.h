#pragma once

#include <cstdint>

struct CUstream_st;

namespace wam {

// What the launcher of a kernel and its caller agree on, without a CUDA or Torch header.

// cudaStream_t.
using KernelStream = CUstream_st*;

// The type of a kernel's elements. Arithmetic is in fp32 whatever they are.
enum class Element : std::uint8_t { kBf16, kFloat };

// Elements that one thread reads or writes at once: rows start at multiples of it, and widths are
// multiples of it.
inline constexpr std::int64_t kVectorElements = 8;

// Call after every launch. Throws DeviceError naming `kernel` when it could not be launched.
void check_launch(const char* kernel);

}  // namespace wam
