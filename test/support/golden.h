#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <nlohmann/json.hpp>

#include "core/io/safetensors.h"

namespace wam::test {

// A file of golden values: results are stored, everything else comes from the formula of
// test/golden/README.md.
class GoldenFile {
 public:
  explicit GoldenFile(const std::filesystem::path& path);

  [[nodiscard]] const std::string& kind() const noexcept { return kind_; }
  [[nodiscard]] const nlohmann::json& config() const noexcept { return config_; }
  [[nodiscard]] const nlohmann::json& specs() const noexcept { return specs_; }
  [[nodiscard]] std::string name() const { return file_->path().filename().string(); }
  [[nodiscard]] const SafetensorsFile& file() const noexcept { return *file_; }

  // Full names ("param.x", "in.y") of all tensors that the formula or a list gives.
  [[nodiscard]] std::vector<std::string> formula_names(const std::string& group_prefix) const;
  // A tensor of `specs` (group included in the name) as `type`; F32 values widened for kDouble.
  [[nodiscard]] at::Tensor build(const std::string& name, at::ScalarType type) const;
  // A stored tensor, own memory, in its stored type.
  [[nodiscard]] at::Tensor stored(const std::string& name) const;
  [[nodiscard]] bool has(const std::string& name) const;
  // The formula for any name: probe tensors use scale 1, offset 0.
  [[nodiscard]] at::Tensor formula(const std::string& name,
                                   const std::vector<std::int64_t>& shape,
                                   double scale,
                                   double offset) const;

  // Largest absolute difference to stored tensor `name`, relative to its largest absolute value.
  [[nodiscard]] double error_of(const at::Tensor& value, const std::string& name) const;
  // Same for a gradient held as grad.<name>, or as gradprint.<name> and gradends.<name>, with the
  // conventions of the README.
  struct GradientError {
    double print = 0;   // from gradprint (double), 0 when absent
    double stored = 0;  // from grad or gradends (float32)
    double rms = 0;     // from the same: root mean square of the difference over that of the whole
  };
  [[nodiscard]] GradientError gradient_error(const at::Tensor& value,
                                             const std::string& name) const;

 private:
  std::unique_ptr<SafetensorsFile> file_;
  std::string kind_;
  std::string salt_;
  nlohmann::json config_;
  nlohmann::json specs_;
};

// The folder in WAM_GOLDEN_DIR, else test/golden/files.
std::filesystem::path golden_folder();
// Every .safetensors of the golden folder with this kind; throws if there is none.
std::vector<std::filesystem::path> golden_files(const std::string& kind);

}  // namespace wam::test
