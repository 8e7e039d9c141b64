#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace wam {

// One tensor inside a memory-mapped file. Valid while its SafetensorsFile lives.
struct TensorView {
  std::string dtype;  // "F64" "F32" "F16" "BF16" "I64" "I32" "I16" "I8" "U8" "BOOL" "U16" ...
  std::vector<std::int64_t> shape;
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
};

// A .safetensors file, memory-mapped: nothing is read before it is touched.
// Format: https://github.com/huggingface/safetensors (8-byte little-endian header length, JSON
// header, data). Checked on opening: header length, offsets in range and without overlap, and
// bytes == product(shape) * size of dtype. Errors: DataError naming file and tensor.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);
  ~SafetensorsFile();
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;
  SafetensorsFile(SafetensorsFile&&) = delete;
  SafetensorsFile& operator=(SafetensorsFile&&) = delete;

  [[nodiscard]] const std::map<std::string, TensorView>& tensors() const noexcept {
    return tensors_;
  }
  [[nodiscard]] const std::map<std::string, std::string>& metadata() const noexcept {
    return metadata_;
  }
  // Errors: DataError with the nearest name.
  [[nodiscard]] const TensorView& at(const std::string& name) const;
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  void parse(const char* header, std::size_t header_bytes, std::size_t data_bytes);

  std::filesystem::path path_;
  void* map_ = nullptr;
  std::size_t map_bytes_ = 0;
  std::map<std::string, TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
};

// What a file will hold, known before the first byte of data is written.
struct TensorHeader {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
};

// Bytes of one element; throws InvariantError on an unknown name.
std::size_t dtype_bytes(const std::string& dtype);

// Writes a .safetensors file front to back: the header, then `write_next` for each tensor in the
// order of `headers`. Errors: DeviceError (disk), InvariantError (wrong size or order).
class SafetensorsWriter {
 public:
  SafetensorsWriter(const std::filesystem::path& path,
                    std::vector<TensorHeader> headers,
                    const std::map<std::string, std::string>& metadata);
  ~SafetensorsWriter();
  SafetensorsWriter(const SafetensorsWriter&) = delete;
  SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;
  SafetensorsWriter(SafetensorsWriter&&) = delete;
  SafetensorsWriter& operator=(SafetensorsWriter&&) = delete;

  // The bytes of the next tensor, whole or in consecutive pieces.
  void write_next(const void* data, std::size_t bytes);
  // Checks that everything arrived, flushes to disk; returns the XXH3 of the whole file. `moved`:
  // OutputFile::finish.
  std::uint64_t finish(const std::function<void()>& moved = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wam
