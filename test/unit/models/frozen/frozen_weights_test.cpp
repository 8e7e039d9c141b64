#include "models/frozen/frozen_weights.h"

#include <map>
#include <string>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "core/io/safetensors.h"
#include "core/io/tensor_file.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"

namespace wam {
namespace {

using Catch::Contains;
using Tensors = std::map<std::string, at::Tensor>;

FrozenModel small_model() {
  return {.what = "small encoder",
          .tensors = {{"first.weight", {2, 3}, 0.0, 1.0, true},
                      {"second.weight", {4}, 1.0, 0.0, true},
                      {"scale", {}, 0.0, 1.0, false}},
          .ignored_prefixes = {"textual."}};
}

Tensors small_tensors() {
  return {{"first.weight", at::full({2, 3}, 1.5)}, {"second.weight", at::full({4}, -2.0)}};
}

std::filesystem::path write(const std::filesystem::path& path, const Tensors& tensors) {
  std::vector<TensorHeader> headers;
  for (const auto& [name, tensor] : tensors) {
    headers.push_back({name, dtype_name(tensor.scalar_type()), tensor.sizes().vec()});
  }
  SafetensorsWriter writer(path, headers, {});
  for (const auto& [name, tensor] : tensors) {
    writer.write_next(tensor.const_data_ptr(), tensor.nbytes());
  }
  writer.finish();
  return path;
}

FrozenWeights load(const std::filesystem::path& path, const std::string& prefix = "") {
  return load_frozen(small_model(), {.seed = {}, .path = path, .prefix = prefix},
                     {at::kCPU, at::kBFloat16});
}

Tensors prefixed(const Tensors& tensors, const std::string& prefix) {
  Tensors out;
  for (const auto& [name, tensor] : tensors) out.emplace(prefix + name, tensor);
  return out;
}

}  // namespace

TEST_CASE("Frozen weights load by name and convert to the wanted type") {
  const test::TempFolder folder;
  Tensors tensors = small_tensors();
  tensors.emplace("scale", at::ones({1}));  // [] in the list: both are a scalar
  tensors.emplace("textual.weight", at::ones({5}));

  const FrozenWeights weights = load(write(folder.path() / "a.safetensors", tensors));

  CHECK(weights.tensors().size() == 2);
  CHECK(weights.bytes() == 20);
  CHECK(weights.at("first.weight").equal(at::full({2, 3}, 1.5, at::kBFloat16)));
  CHECK_THROWS_WITH(weights.at("scale"), Contains("no frozen weight named scale"));
}

TEST_CASE("Frozen weights load from inside a larger checkpoint, in shards") {
  const test::TempFolder folder;
  const Tensors all = prefixed(small_tensors(), "head.encoder.");
  write(folder.path() / "model-1.safetensors", {*all.begin(), {"head.model.other", at::ones({3})}});
  const auto second = write(folder.path() / "model-2.safetensors", {*all.rbegin()});
  write_file_atomically(folder.path() / "model.safetensors.index.json",
                        R"({"weight_map": {"head.encoder.first.weight": "model-1.safetensors",
                            "head.model.other": "model-1.safetensors",
                            "head.encoder.second.weight": "model-2.safetensors"}})");

  CHECK(load(folder.path(), "head.encoder.").tensors().size() == 2);
  CHECK_THROWS_WITH(load(folder.path(), "head.vae."),
                    Contains("no tensor whose name begins with head.vae.") && Contains("Fix:"));

  std::filesystem::remove(second);
  CHECK_THROWS_WITH(load(folder.path(), "head.encoder."),
                    Contains("1 of its 2 files are missing: model-2.safetensors. Fix:"));
}

TEST_CASE("Frozen weights load from a folder in the layout of Diffusers") {
  const test::TempFolder folder;
  write(folder.path() / "diffusion_pytorch_model.safetensors", small_tensors());
  write(folder.path() / "other.safetensors", {{"x", at::ones({1})}});

  CHECK(load(folder.path()).tensors().size() == 2);
}

TEST_CASE("Frozen weights that do not fit are all named in one DataError") {
  const test::TempFolder folder;
  const auto path = write(folder.path() / "a.safetensors", {{"first.weight", at::ones({3, 2})},
                                                            {"third.weight", at::ones({1})},
                                                            {"fourth.weight", at::ones({1})}});

  CHECK_THROWS_AS(load(path), DataError);
  CHECK_THROWS_WITH(load(path), Contains("small encoder") && Contains(path.string()) &&
                                    Contains("1 missing: second.weight") &&
                                    Contains("2 unexpected: fourth.weight, third.weight") &&
                                    Contains("first.weight is [3, 2], expected [2, 3]") &&
                                    Contains("Fix:"));
  CHECK_THROWS_WITH(given_frozen(small_model(), {}, {}), Contains("2 missing: first.weight"));
}

TEST_CASE("Frozen weights: a path that is not a weight file is refused in words") {
  const test::TempFolder folder;
  write_file_atomically(folder.path() / "Wan2.1_VAE.pth", "x");

  CHECK_THROWS_WITH(load(folder.path() / "none"), Contains("no such file or folder. Fix:"));
  CHECK_THROWS_WITH(load(folder.path() / "Wan2.1_VAE.pth"), Contains("expected a .safetensors"));
  CHECK_THROWS_WITH(load(folder.path()), Contains("found 0 .safetensors files"));
}

TEST_CASE("Random frozen weights are a function of seed and name, with the spread asked for") {
  const FrozenTensor spec{"a.weight", {300, 331}, 1.0, 0.25, true};
  FrozenTensor other = spec;
  other.name = "b.weight";

  const at::Tensor values = random_frozen(spec, 11, at::kFloat);

  CHECK(values.mean().item<double>() == Approx(1.0).margin(0.005));
  CHECK(values.std().item<double>() == Approx(0.25).margin(0.005));
  CHECK(values.equal(random_frozen(spec, 11, at::kFloat)));
  CHECK_FALSE(values.equal(random_frozen(spec, 12, at::kFloat)));
  CHECK_FALSE(values.equal(random_frozen(other, 11, at::kFloat)));
  CHECK(values.to(at::kBFloat16).equal(random_frozen(spec, 11, at::kBFloat16)));
  CHECK(values.to(at::kDouble).equal(random_frozen(spec, 11, at::kDouble)));
}

TEST_CASE("Random frozen weights: the identity part passes channels on, spread over the taps") {
  const FrozenTensor plain{"a.weight", {4, 2, 3, 1}, 0.0, 0.25};
  FrozenTensor passing = plain;
  passing.random_identity = 1.5;

  const at::Tensor added =
      random_frozen(passing, 11, at::kDouble) - random_frozen(plain, 11, at::kDouble);

  for (std::int64_t o = 0; o < 4; ++o) {
    for (std::int64_t i = 0; i < 2; ++i) {
      const double expected = i == o % 2 ? 0.5 : 0.0;
      const at::Tensor taps = added.select(0, o).select(0, i);
      CHECK((taps - expected).abs().max().item<double>() < 1e-6);
    }
  }
}

TEST_CASE("Fingerprint of frozen weights changes with one byte, with the seed, and not by moving") {
  const test::TempFolder folder;
  const auto print = [](const FrozenSource& source) {
    return frozen_fingerprint(small_model(), source);
  };
  Tensors tensors = small_tensors();
  const auto a = write(folder.path() / "a.safetensors", tensors);
  const auto moved = write(folder.path() / "b.safetensors", prefixed(tensors, "in."));
  tensors.at("second.weight")[3].fill_(-2.5);
  const auto changed = write(folder.path() / "c.safetensors", tensors);

  const std::uint64_t first = print({.seed = {}, .path = a, .prefix = {}});

  CHECK(first == print({.seed = {}, .path = moved, .prefix = "in."}));
  CHECK(first != print({.seed = {}, .path = changed, .prefix = {}}));
  CHECK(print({.seed = 1, .path = {}, .prefix = {}}) !=
        print({.seed = 2, .path = {}, .prefix = {}}));
}

}  // namespace wam
