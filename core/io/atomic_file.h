#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace wam {

// Writes a whole file so that readers see the old content or the new, never a part: PATH.tmp,
// fsync, rename, fsync of the folder. Errors: DeviceError naming the path and the reason.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

// The whole file. Errors: DataError naming the path.
std::string read_file(const std::filesystem::path& path);

// Flushes a file's content, or a folder's entries, to the disk.
void sync_to_disk(const std::filesystem::path& path);

// A file under construction, written front to back.
// Errors: DeviceError when a write fails (disk full, quota), with the path and the reason.
class OutputFile {
 public:
  explicit OutputFile(const std::filesystem::path& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  OutputFile(OutputFile&&) = delete;
  OutputFile& operator=(OutputFile&&) = delete;
  void write(const void* data, std::size_t bytes);
  // fsync and close; without it the file is left as it is. `moved` is called as pieces of it are
  // flushed, which takes long where much of it is in memory and the disk is slow.
  void finish(const std::function<void()>& moved = {});
  [[nodiscard]] std::uint64_t bytes_written() const noexcept { return written_; }

 private:
  void flush_by_pieces(const std::function<void()>& moved);

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t written_ = 0;
};

}  // namespace wam
