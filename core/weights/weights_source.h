#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/io/safetensors.h"

namespace wam {

// Named tensors on the disk, memory-mapped: one .safetensors file, or a folder as Hugging Face
// lays it out. In a folder the first of these is taken:
//   model.safetensors.index.json, model.safetensors                          (DreamZero)
//   diffusion_pytorch_model.safetensors.index.json, diffusion_pytorch_model.safetensors  (Wan)
//   the only .safetensors file that is there
// Errors: DataError naming the path: nothing there, a shard that the index names and that is
// missing, a tensor that is not in its shard, a file that is damaged.
class WeightsSource {
 public:
  explicit WeightsSource(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  // By full name. Views live as long as this object.
  [[nodiscard]] const std::map<std::string, const TensorView*>& tensors() const noexcept {
    return tensors_;
  }
  // Null when there is none.
  [[nodiscard]] const TensorView* find(const std::string& name) const;
  // Errors: DataError with the nearest name.
  [[nodiscard]] const TensorView& at(const std::string& name) const;
  // Names that start with `prefix`, without it, sorted.
  [[nodiscard]] std::vector<std::string> names_under(const std::string& prefix) const;
  // Of the tensors under `prefix`: names (without it), types, shapes and every byte, whatever files
  // they stand in. Reads them all, on all cores. 16 hex digits.
  [[nodiscard]] std::string content_hash_under(const std::string& prefix) const;
  // "3 files, 1,234 tensors, 10.2 GiB".
  [[nodiscard]] std::string summary() const;

 private:
  void open_file(const std::filesystem::path& file);
  void open_index(const std::filesystem::path& index);
  void open_folder(const std::filesystem::path& folder);

  std::filesystem::path path_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string, const TensorView*> tensors_;
};

}  // namespace wam
