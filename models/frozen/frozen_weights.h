#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace wam {

// One tensor of a frozen encoder. `name` is its key in the published weight file.
struct FrozenTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  // What `random` draws: uniform values with this mean and standard deviation.
  double random_mean = 0.0;
  double random_std = 0.0;
  // False: part of the file, never read by the encoder, so never loaded.
  bool needed = true;
  // For `random`: added to weight (out, in, taps…) at [o, o mod in], spread evenly over the taps,
  // so that a random layer passes its input on instead of scrambling it.
  double random_identity = 0.0;

  [[nodiscard]] std::int64_t numel() const;
};

// An encoder's tensors as plain data: what a file must hold.
struct FrozenModel {
  std::string what;  // for messages: "Wan2.1 VAE"
  std::vector<FrozenTensor> tensors;
  // Names with these beginnings may stand in the file and are passed over.
  std::vector<std::string> ignored_prefixes;

  [[nodiscard]] std::int64_t numel() const;         // all tensors
  [[nodiscard]] std::int64_t needed_numel() const;  // those that are loaded
};

// Where the numbers come from: a seed, or a .safetensors file or folder (core/weights/
// weights_source.h says what of a folder is taken). `prefix` goes before every name in the file:
// "action_head.vae.model." finds the VAE inside a DreamZero checkpoint, whose other tensors are
// then passed over.
struct FrozenSource {
  std::optional<std::uint64_t> seed;
  std::filesystem::path path;
  std::string prefix;
};

struct FrozenPlacement {
  at::Device device = at::kCPU;
  at::ScalarType type = at::kFloat;  // bf16, fp32 or, in tests, fp64
};

// The numbers of one encoder, by name. Never trained, never gathered.
class FrozenWeights {
 public:
  // Errors: InvariantError when the name is absent.
  [[nodiscard]] const at::Tensor& at(const std::string& name) const;
  [[nodiscard]] const std::map<std::string, at::Tensor>& tensors() const noexcept {
    return tensors_;
  }
  void set(const std::string& name, at::Tensor tensor);
  [[nodiscard]] std::int64_t bytes() const;

 private:
  std::map<std::string, at::Tensor> tensors_;
};

// Loads (or draws) what the encoder needs, tensor by tensor, straight to device and type; files are
// memory-mapped, so the host never holds two copies of the model.
// Errors: DataError that lists every missing, unexpected and misshapen tensor.
FrozenWeights load_frozen(const FrozenModel& model,
                          const FrozenSource& source,
                          const FrozenPlacement& placement);

// Weights from tensors that are already there. Errors: DataError as above.
FrozenWeights given_frozen(const FrozenModel& model,
                           const std::map<std::string, at::Tensor>& tensors,
                           const FrozenPlacement& placement);

// The values that `seed` gives a tensor, on the CPU: a function of (seed, name, element index)
// alone, drawn in float and rounded once to `type`. Threads share the work.
at::Tensor random_frozen(const FrozenTensor& tensor, std::uint64_t seed, at::ScalarType type);

// Changes when the encoder's numbers change: XXH3 over names, shapes, types and bytes of the needed
// tensors (all of the file's bytes of them are read), or over the seed, names and shapes.
// Errors: DataError as for loading.
std::uint64_t frozen_fingerprint(const FrozenModel& model, const FrozenSource& source);

// "[2, 3]" for messages.
std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace wam
