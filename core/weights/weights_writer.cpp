#include "core/weights/weights_writer.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "core/io/disk.h"
#include "core/io/safetensors.h"
#include "core/io/tensor_file.h"

namespace wam {
namespace {

namespace fs = std::filesystem;

// Elements that are converted at a time.
constexpr std::int64_t kPiece = std::int64_t{1} << 24;

std::uint64_t bytes_of(const TensorSource& tensor, const WeightsWriterOptions& options) {
  std::int64_t count = 1;
  for (const std::int64_t extent : tensor.shape) count *= extent;
  return static_cast<std::uint64_t>(count) * dtype_bytes(dtype_name(options.type));
}

// [first, last) of each file, in order.
std::vector<std::pair<std::size_t, std::size_t>> pack(const std::vector<TensorSource>& tensors,
                                                      const WeightsWriterOptions& options) {
  std::vector<std::pair<std::size_t, std::size_t>> shards{{0, 0}};
  std::uint64_t filled = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::uint64_t bytes = bytes_of(tensors[i], options);
    if (filled > 0 && filled + bytes > options.shard_bytes) {
      shards.emplace_back(i, i);
      filled = 0;
    }
    filled += bytes;
    shards.back().second = i + 1;
  }
  return shards;
}

void write_tensor(SafetensorsWriter& writer,
                  const TensorSource& source,
                  const WeightsWriterOptions& options) {
  const at::Tensor values = source.make();
  require<InvariantError>(values.sizes() == at::IntArrayRef(source.shape),
                          "writing {}: its source gave another shape than announced", source.name);
  const at::Tensor flat = values.reshape({-1});
  for (std::int64_t begin = 0; begin < flat.numel(); begin += kPiece) {
    const at::Tensor piece = flat.narrow(0, begin, std::min(kPiece, flat.numel() - begin))
                                 .to(at::TensorOptions().device(at::kCPU).dtype(options.type))
                                 .contiguous();
    writer.write_next(piece.const_data_ptr(), piece.nbytes());
  }
}

void write_index(const fs::path& folder,
                 const std::vector<TensorSource>& tensors,
                 const std::vector<std::string>& file_of,
                 std::uint64_t bytes) {
  nlohmann::ordered_json map = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < tensors.size(); ++i) map[tensors[i].name] = file_of[i];
  const nlohmann::ordered_json index{{"metadata", {{"total_size", bytes}}},
                                     {"weight_map", std::move(map)}};
  write_file_atomically(folder / "model.safetensors.index.json", index.dump(2) + "\n");
}

void check_names(const std::vector<TensorSource>& sorted) {
  invariant(!sorted.empty(), "weights without a tensor");
  const auto twice = std::adjacent_find(
      sorted.begin(), sorted.end(),
      [](const TensorSource& a, const TensorSource& b) { return a.name == b.name; });
  require<InvariantError>(twice == sorted.end(), "writing weights: {} comes twice",
                          twice == sorted.end() ? "" : twice->name);
}

}  // namespace

std::uint64_t weights_bytes(const std::vector<TensorSource>& tensors,
                            const WeightsWriterOptions& options) {
  std::uint64_t bytes = 0;
  for (const TensorSource& tensor : tensors) bytes += bytes_of(tensor, options);
  return bytes;
}

WrittenWeights write_weights(const fs::path& folder,
                             std::vector<TensorSource> tensors,
                             const WeightsWriterOptions& options) {
  std::sort(tensors.begin(), tensors.end(),
            [](const TensorSource& a, const TensorSource& b) { return a.name < b.name; });
  check_names(tensors);
  WrittenWeights written;
  written.bytes = weights_bytes(tensors, options);
  check_free_space(folder, written.bytes, fmt::format("writing weights to {}", folder.string()));
  const auto shards = pack(tensors, options);
  std::vector<std::string> file_of(tensors.size());
  for (std::size_t s = 0; s < shards.size(); ++s) {
    const std::string file =
        shards.size() == 1 ? "model.safetensors"
                           : fmt::format("model-{:05}-of-{:05}.safetensors", s + 1, shards.size());
    std::vector<TensorHeader> headers;
    for (std::size_t i = shards[s].first; i < shards[s].second; ++i) {
      headers.push_back({tensors[i].name, dtype_name(options.type), tensors[i].shape});
      file_of[i] = file;
    }
    SafetensorsWriter writer(folder / file, std::move(headers), {{"format", "pt"}});
    for (std::size_t i = shards[s].first; i < shards[s].second; ++i) {
      write_tensor(writer, tensors[i], options);
    }
    writer.finish();
    written.files.push_back(file);
  }
  if (shards.size() > 1) write_index(folder, tensors, file_of, written.bytes);
  return written;
}

void write_folder_atomically(const fs::path& out,
                             const std::function<void(const fs::path& folder)>& fill) {
  std::error_code error;
  const bool taken = fs::exists(out, error) && !(fs::is_directory(out, error) && fs::is_empty(out));
  require<DataError>(
      !taken,
      "writing the folder {}: it is there already. Fix: choose another name, or move "
      "it away.",
      out.string());
  fs::path temporary = fs::absolute(out).lexically_normal();
  if (!temporary.has_filename()) temporary = temporary.parent_path();  // "folder/"
  const fs::path target = temporary;
  temporary += ".wamtrain-tmp";
  remove_tree(temporary);
  make_folders(temporary);
  try {
    fill(temporary);
    for (const auto& entry : fs::recursive_directory_iterator(temporary)) {
      if (entry.is_directory()) sync_to_disk(entry.path());
    }
    sync_to_disk(temporary);
    rename_and_sync(temporary, target);
  } catch (...) {
    fs::remove_all(temporary, error);
    throw;
  }
}

}  // namespace wam
