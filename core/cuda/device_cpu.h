#pragma once

#include <cstdint>
#include <string>

#include "core/cuda/device.h"

namespace wam {

// device.h for the CPU alone; device.cpp and device_none.cpp build on these.
void prepare_cpu(const DeviceOptions& options);
std::string describe_cpu();
std::int64_t process_peak_bytes();
DeviceMemory host_memory();

}  // namespace wam
