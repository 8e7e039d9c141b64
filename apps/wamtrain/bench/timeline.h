#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/wamtrain/bench/result.h"
#include "core/base/names.h"

namespace wam {

// What kernels are there for, told by their names.
enum class KernelClass {
  kMatrix,
  kAttention,
  kConvolution,
  kNorm,
  kQkNorm,
  kGelu,
  kGatedResidual,
  kGather,
  kRowSum,
  kColumnSum,
  kOptimizer,
  kSquareSum,
  kPictures,
  kElementwise,
  kOther
};

template <>
struct EnumNames<KernelClass> {
  static constexpr std::array table{
      std::pair{KernelClass::kMatrix, std::string_view("matrix products")},
      std::pair{KernelClass::kAttention, std::string_view("attention")},
      std::pair{KernelClass::kConvolution, std::string_view("convolutions")},
      std::pair{KernelClass::kNorm, std::string_view("norms")},
      std::pair{KernelClass::kQkNorm, std::string_view("q/k norm and rotary")},
      std::pair{KernelClass::kGelu, std::string_view("GELU")},
      std::pair{KernelClass::kGatedResidual, std::string_view("gated residual")},
      std::pair{KernelClass::kGather, std::string_view("gather and sum of keys, values")},
      std::pair{KernelClass::kRowSum, std::string_view("sums over token runs")},
      std::pair{KernelClass::kColumnSum, std::string_view("column sums")},
      std::pair{KernelClass::kOptimizer, std::string_view("optimizer")},
      std::pair{KernelClass::kSquareSum, std::string_view("gradient norm")},
      std::pair{KernelClass::kPictures, std::string_view("pictures")},
      std::pair{KernelClass::kElementwise, std::string_view("copies, elementwise")},
      std::pair{KernelClass::kOther, std::string_view("other")}};
};

// Of the kernel's name, templates and all.
KernelClass class_of(std::string_view kernel);

// One kernel or copy on the device, or a piece of an operation on the CPU.
struct DeviceEvent {
  std::string name;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  bool is_start = true;  // false: a later piece
};

// What a profiler saw of the device.
struct Timeline {
  std::vector<DeviceEvent> events;

  // Share of the time between the first event's start and the last one's end in which nothing runs.
  // 0 without events.
  [[nodiscard]] double idle_share() const;
  // Milliseconds of all events by class; events at the same time count each.
  [[nodiscard]] std::map<KernelClass, double> ms_by_class() const;
  // By name, the longest first. `steps`: how many the timeline covers.
  [[nodiscard]] std::vector<KernelLine> kernels(std::int64_t steps) const;
  // Kernels that are no copy or fill of memory.
  [[nodiscard]] std::int64_t launches() const;
};

// Without "void ", the anonymous namespace, and arguments; for people.
std::string readable_kernel(std::string name);

}  // namespace wam
