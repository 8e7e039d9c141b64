#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace wam {

// A tensor to be written. `make` is called once, when its turn comes, and returns the values in
// `shape`, of any float type, on any device: read from a checkpoint, mapped from another file, or
// drawn from a seed. So one tensor at a time is in memory.
struct TensorSource {
  std::string name;
  std::vector<std::int64_t> shape;
  std::function<at::Tensor()> make;
};

struct WeightsWriterOptions {
  at::ScalarType type = at::kBFloat16;  // bf16, fp16 or fp32; rounded once, to nearest even
  // A file holds tensors of at most this many bytes (a larger tensor gets a file of its own).
  std::uint64_t shard_bytes = std::uint64_t{4} << 30;
};

struct WrittenWeights {
  std::vector<std::string> files;
  std::uint64_t bytes = 0;  // of tensors
};

// Bytes that the tensors will take.
std::uint64_t weights_bytes(const std::vector<TensorSource>& tensors,
                            const WeightsWriterOptions& options);

// Writes the tensors into an existing folder as Hugging Face lays them out: sorted by name, packed
// greedily; one model.safetensors, or model-00001-of-0000n.safetensors and
// model.safetensors.index.json. The same tensors give the same bytes. Flushed to the disk.
// Errors: DeviceError (disk full), InvariantError (a name twice, a shape that is not the
// announced).
WrittenWeights write_weights(const std::filesystem::path& folder,
                             std::vector<TensorSource> tensors,
                             const WeightsWriterOptions& options);

// A whole folder that appears at once: `fill` writes into a temporary folder beside it, which is
// flushed and renamed when `fill` returns, and removed when it throws.
// Errors: DataError when `out` is there already and not an empty folder.
void write_folder_atomically(const std::filesystem::path& out,
                             const std::function<void(const std::filesystem::path& folder)>& fill);

}  // namespace wam
