#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace wam::test {

// A disk in memory of a few MiB, mounted at `folder` as long as the object lives, for tests of full
// disks. Not everybody may mount one.
class SmallDisk {
 public:
  SmallDisk(const std::filesystem::path& folder, std::uint64_t bytes);
  ~SmallDisk();
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  SmallDisk(SmallDisk&&) = delete;
  SmallDisk& operator=(SmallDisk&&) = delete;

  // False where this process may not mount: the test then returns, and this has said so.
  [[nodiscard]] bool is_there() const noexcept { return mounted_; }
  // Writes a file "filler" until so many bytes are left, or none.
  void fill(std::uint64_t left_bytes) const;
  void clear_filler() const;

 private:
  std::filesystem::path folder_;
  bool mounted_ = false;
};

}  // namespace wam::test
