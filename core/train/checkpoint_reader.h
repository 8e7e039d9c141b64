#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/io/safetensors.h"
#include "core/train/manifest.h"
#include "core/train/unit.h"

namespace wam {

// A complete checkpoint, opened for reading by ranges: any number of ranks reads what any number
// wrote. Files are mapped when they are first read from.
// Errors: DataError naming the file, for everything that is missing, cut short or does not fit.
// Content is not hashed here: verify_checkpoint does that.
class CheckpointReader {
 public:
  explicit CheckpointReader(const std::filesystem::path& folder);

  [[nodiscard]] const Manifest& manifest() const noexcept { return manifest_; }
  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }

  // Elements [begin, begin + out.numel()) of one array of a unit, into `out` (one-dimensional, any
  // device; converted to its type).
  void read(const std::string& unit, const std::string& array, std::int64_t begin, at::Tensor out);
  // One tensor of an array, in its shape and stored type, on the CPU. Frozen tensors are not in
  // checkpoints: asking for one is a DataError.
  at::Tensor read_tensor(const std::string& name, const std::string& array);
  // Names of all trainable tensors, in the order of the units.
  [[nodiscard]] std::vector<std::string> tensor_names() const;

  // Fills the state arrays of these shards with what was saved, bit for bit. The compute copies are
  // the caller's to refresh (Sharding::publish_weights).
  // Errors: DataError that lists every difference between the checkpoint's units and these.
  void restore(std::vector<Unit>& units);

 private:
  const SafetensorsFile& file(std::size_t file_idx);
  void check_files() const;
  void check_fits(const std::vector<Unit>& units) const;

  std::filesystem::path folder_;
  Manifest manifest_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string, std::pair<std::size_t, std::size_t>> place_of_;  // name -> unit, tensor
};

}  // namespace wam
