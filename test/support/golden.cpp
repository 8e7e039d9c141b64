#include "test/support/golden.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include "core/base/errors.h"
#include "core/io/tensor_file.h"
#include "core/random/counter.h"

namespace wam::test {
namespace {

std::uint64_t splitmix64(std::uint64_t x) {
  std::uint64_t z = x + 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

std::int64_t product(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

at::Tensor as_double(const at::Tensor& t) {
  return t.detach().to(at::kCPU, at::kDouble).contiguous();
}

double largest(const at::Tensor& t) {
  return t.numel() == 0 ? 0.0 : t.abs().max().item<double>();
}

double root_mean_square(const at::Tensor& t) {
  return std::sqrt(t.square().mean().item<double>());
}

}  // namespace

GoldenFile::GoldenFile(const std::filesystem::path& path)
    : file_(std::make_unique<SafetensorsFile>(path)) {
  const auto& meta = file_->metadata();
  kind_ = meta.at("kind");
  salt_ = meta.at("salt");
  config_ = nlohmann::json::parse(meta.at("config"));
  specs_ = nlohmann::json::parse(meta.at("tensors"));
}

std::vector<std::string> GoldenFile::formula_names(const std::string& group_prefix) const {
  std::vector<std::string> out;
  for (const auto& [name, spec] : specs_.items()) {
    if (name.starts_with(group_prefix)) out.push_back(name);
  }
  return out;
}

at::Tensor GoldenFile::formula(const std::string& name,
                               const std::vector<std::int64_t>& shape,
                               double scale,
                               double offset) const {
  const std::string key = salt_.empty() ? name : name + "#" + salt_;
  const std::uint64_t seed = fnv1a64(key.data(), key.size());
  at::Tensor out = at::empty(shape, at::kFloat);
  auto* values = out.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < out.numel(); ++i) {
    const std::uint64_t h =
        splitmix64(seed + static_cast<std::uint64_t>(i) * std::uint64_t{0x9E3779B97F4A7C15});
    const double u = static_cast<double>(h >> 40) * 0x1p-24;
    values[i] = static_cast<float>((2 * u - 1) * scale + offset);
  }
  return out;
}

at::Tensor GoldenFile::build(const std::string& name, at::ScalarType type) const {
  require<InvariantError>(specs_.contains(name), "golden file {} has no formula for {}",
                          this->name(), name);
  const auto& spec = specs_.at(name);
  const auto shape = spec.at("shape").get<std::vector<std::int64_t>>();
  if (spec.contains("values")) {
    const auto values = spec.at("values").get<std::vector<double>>();
    require<InvariantError>(static_cast<std::int64_t>(values.size()) == product(shape),
                            "golden file {}: {} has the wrong number of values", this->name(),
                            name);
    return at::tensor(values, at::kDouble).reshape(shape).to(type);
  }
  at::Tensor out =
      formula(name, shape, spec.at("scale").get<double>(), spec.at("offset").get<double>());
  if (spec.contains("zero_from")) {
    const auto rows = spec.at("zero_from").get<std::vector<std::int64_t>>();
    for (std::size_t b = 0; b < rows.size(); ++b) {
      at::Tensor sample = out.select(0, static_cast<std::int64_t>(b));
      sample.slice(0, rows[b]).zero_();
    }
  }
  return out.to(type);
}

at::Tensor GoldenFile::stored(const std::string& name) const {
  return map_tensor(file_->at(name)).clone();
}

bool GoldenFile::has(const std::string& name) const {
  return file_->tensors().contains(name);
}

double GoldenFile::error_of(const at::Tensor& value, const std::string& name) const {
  const at::Tensor expected = as_double(stored(name));
  const at::Tensor found = as_double(value).reshape(expected.sizes());
  return largest(found - expected) / std::max(largest(expected), 1e-300);
}

GoldenFile::GradientError GoldenFile::gradient_error(const at::Tensor& value,
                                                     const std::string& name) const {
  GradientError out;
  const at::Tensor found = as_double(value);
  if (has("grad." + name)) {
    const at::Tensor expected = as_double(stored("grad." + name)).view(found.sizes());
    out.stored = error_of(value, "grad." + name);
    out.rms = root_mean_square(found - expected) / root_mean_square(expected);
    return out;
  }
  const at::Tensor print = as_double(stored("gradprint." + name));
  const auto* p = print.const_data_ptr<double>();
  const at::Tensor probe = formula("probe." + name, found.sizes().vec(), 1.0, 0.0).to(at::kDouble);
  const double sum = found.sum().item<double>();
  const double abs_sum = found.abs().sum().item<double>();
  const double norm = std::sqrt((found * found).sum().item<double>());
  const double dot = (found * probe).sum().item<double>();
  out.print = std::max({std::abs(sum - p[0]) / p[1], std::abs(abs_sum - p[1]) / p[1],
                        std::abs(norm - p[2]) / p[2], std::abs(dot - p[3]) / p[1]});
  const at::Tensor ends = as_double(stored("gradends." + name));
  const at::Tensor flat = found.flatten();
  const at::Tensor difference =
      at::cat({flat.narrow(0, 0, 16), flat.narrow(0, flat.numel() - 16, 16)}) - ends;
  const double typical = p[2] / std::sqrt(static_cast<double>(found.numel()));
  out.stored = largest(difference) / std::max(largest(ends), typical);
  out.rms = root_mean_square(difference) / std::max(root_mean_square(ends), typical);
  return out;
}

std::filesystem::path golden_folder() {
  const char* set = std::getenv("WAM_GOLDEN_DIR");
  return set != nullptr ? std::filesystem::path(set)
                        : std::filesystem::path(WAM_SOURCE_DIR) / "test/golden/files";
}

std::vector<std::filesystem::path> golden_files(const std::string& kind) {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator(golden_folder())) {
    if (entry.path().extension() != ".safetensors") continue;
    if (SafetensorsFile(entry.path()).metadata().at("kind") == kind) out.push_back(entry.path());
  }
  require<DataError>(!out.empty(), "looking for golden files of kind {} in {}: there is none.",
                     kind, golden_folder().string());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace wam::test
