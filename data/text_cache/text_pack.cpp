#include "data/text_cache/text_pack.h"

#include <cstddef>
#include <map>

#include <ATen/ops/from_blob.h>

#include "core/base/errors.h"
#include "core/io/disk.h"
#include "core/io/hash.h"
#include "core/io/shared_folder.h"

namespace wam {
namespace {

constexpr const char* kFormat = "wamtrain text embeddings 1";

std::string hash_of(const std::string& key,
                    const std::vector<std::int64_t>& shape,
                    const void* data,
                    std::size_t bytes) {
  StreamHash hash;
  hash.update(key.data(), key.size());
  hash.update(shape.data(), shape.size() * sizeof(std::int64_t));
  hash.update(data, bytes);
  return hash_hex(hash.digest());
}

void write_file(const std::filesystem::path& path, const std::vector<TextEntry>& entries) {
  std::vector<TensorHeader> headers;
  std::map<std::string, std::string> metadata{{"format", kFormat}};
  for (const TextEntry& entry : entries) {
    const std::vector<std::int64_t> shape = entry.rows_MD.sizes().vec();
    headers.push_back({entry.key, "BF16", shape});
    metadata[entry.key + ".text"] = entry.text;
    metadata[entry.key + ".hash"] =
        hash_of(entry.key, shape, entry.rows_MD.const_data_ptr(), entry.rows_MD.nbytes());
  }
  SafetensorsWriter writer(path, std::move(headers), metadata);
  for (const TextEntry& entry : entries) {
    writer.write_next(entry.rows_MD.const_data_ptr(), entry.rows_MD.nbytes());
  }
  writer.finish();
}

}  // namespace

std::string text_key(const std::string& text) {
  const std::string salted = "text:" + text;
  return hash_hex(content_hash(text.data(), text.size())) +
         hash_hex(content_hash(salted.data(), salted.size()));
}

TextPack::TextPack(const std::filesystem::path& path) : file_(path) {
  const auto format = file_.metadata().find("format");
  require<DataError>(format != file_.metadata().end() && format->second == kFormat,
                     "opening {}: it is no pack of text embeddings ({}).", path.string(), kFormat);
}

std::vector<std::string> TextPack::keys() const {
  std::vector<std::string> out;
  for (const auto& [key, view] : file_.tensors()) out.push_back(key);
  return out;
}

bool TextPack::has(const std::string& key) const {
  return file_.tensors().contains(key);
}

at::Tensor TextPack::rows(const std::string& key) const {
  const TensorView& view = file_.at(key);
  // from_blob wants a pointer to non-const; the contract forbids writing.
  auto keep = shared_from_this();
  return at::from_blob(
      const_cast<std::byte*>(view.data), view.shape, [keep](void*) {},
      at::TensorOptions().dtype(at::kBFloat16));
}

std::string TextPack::find_damage(std::int64_t width) const {
  for (const auto& [key, view] : file_.tensors()) {
    if (view.dtype != "BF16" || view.shape.size() != 2 || view.shape[1] != width) {
      return fmt::format("the rows of {} are not bf16 of width {}", key, width);
    }
    const auto hash = file_.metadata().find(key + ".hash");
    if (hash == file_.metadata().end() ||
        hash->second != hash_of(key, view.shape, view.data, view.bytes)) {
      return fmt::format("the rows of {} do not have the hash that they were written with", key);
    }
  }
  return {};
}

std::filesystem::path TextPack::write(const std::filesystem::path& folder,
                                      const std::vector<TextEntry>& entries) {
  StreamHash names;
  std::uint64_t bytes = 0;
  for (const TextEntry& entry : entries) {
    names.update(entry.key.data(), entry.key.size());
    bytes += entry.rows_MD.nbytes();
  }
  std::filesystem::path path =
      folder / fmt::format("pack_{}.safetensors", hash_hex(names.digest()));
  const std::filesystem::path temporary = private_name(path);
  check_free_space(folder, bytes, "storing text embeddings");
  write_file(temporary, entries);
  rename_and_sync(temporary, path);
  return path;
}

}  // namespace wam
