#pragma once

#include <cstdint>
#include <memory>

#include <c10/core/Device.h>

namespace wam {

// Counts how far the device has come in a stream, in host memory that anybody may read at any time,
// also while the device hangs. Works in recorded graphs: every replay counts on.
//
// Threads: one stream counts at a time; any thread reads.
class DeviceCounter {
 public:
  // Errors: InvariantError in a build without CUDA.
  explicit DeviceCounter(c10::Device device);
  ~DeviceCounter();
  DeviceCounter(const DeviceCounter&) = delete;
  DeviceCounter& operator=(const DeviceCounter&) = delete;
  DeviceCounter(DeviceCounter&&) = delete;
  DeviceCounter& operator=(DeviceCounter&&) = delete;

  // Enqueues one more on the current stream.
  void count();
  [[nodiscard]] std::uint64_t value() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wam
