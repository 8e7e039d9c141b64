#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/io/safetensors.h"

namespace wam {

// Embeddings of one prompt. M token · D text width
struct TextEntry {
  std::string key;     // text_key(text)
  std::string text;    // cleaned; kept for people who look into a pack
  at::Tensor rows_MD;  // bf16 on the CPU, contiguous
};

// 32 hex digits that stand for a cleaned text.
std::string text_key(const std::string& text);

// A file with the embeddings of some prompts: safetensors, one bf16 tensor (length, width) a key,
// and for each key "KEY.text" and "KEY.hash" (of key, shape and bytes) in the header's metadata.
// Memory-mapped; const members may be called from any thread.
class TextPack : public std::enable_shared_from_this<TextPack> {
 public:
  // Errors: DataError when the file cannot be read or is no such pack.
  explicit TextPack(const std::filesystem::path& path);

  [[nodiscard]] std::vector<std::string> keys() const;
  [[nodiscard]] bool has(const std::string& key) const;
  // The mapped rows; they keep the pack open. Do not write to them.
  [[nodiscard]] at::Tensor rows(const std::string& key) const;
  // Reads everything. What is wrong, as a sentence; empty when every hash and width holds.
  [[nodiscard]] std::string find_damage(std::int64_t width) const;
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return file_.path(); }

  // Writes a pack into `folder`: readers see all of it or nothing. The name follows from the keys,
  // so two processes that write the same prompts end in one file. Errors: DeviceError.
  static std::filesystem::path write(const std::filesystem::path& folder,
                                     const std::vector<TextEntry>& entries);

 private:
  SafetensorsFile file_;
};

}  // namespace wam
