#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/io/safetensors.h"

namespace wam {

// All tensors of a weight file, or of a folder with model.safetensors or with shards and
// model.safetensors.index.json (the Hugging Face layout). Memory-mapped.
// Errors: DataError naming the path: not there, no weights in it, a shard or tensor that the index
// names and that is absent.
class WeightFiles {
 public:
  explicit WeightFiles(const std::filesystem::path& path);

  [[nodiscard]] const std::map<std::string, const TensorView*>& tensors() const noexcept {
    return tensors_;
  }

 private:
  void open_folder(const std::filesystem::path& folder);
  void open_shards(const std::filesystem::path& index);
  void add(const std::filesystem::path& file);

  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string, const TensorView*> tensors_;
};

}  // namespace wam
