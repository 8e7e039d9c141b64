#include "core/base/errors.h"
#include "core/cuda/device_counter.h"

namespace wam {

struct DeviceCounter::Impl {};

DeviceCounter::DeviceCounter(c10::Device /*device*/) {
  throw InvariantError("a counter of the device's progress in a build without GPU support");
}
DeviceCounter::~DeviceCounter() = default;
void DeviceCounter::count() {}
std::uint64_t DeviceCounter::value() const {
  return 0;
}

}  // namespace wam
