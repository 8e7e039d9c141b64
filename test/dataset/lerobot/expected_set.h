#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <nlohmann/json.hpp>

#include "core/io/safetensors.h"
#include "data/lerobot/reader.h"

namespace wam::test {

// A dataset and what the LeRobot library read from it: NAME, NAME.expected.json and
// NAME.expected.safetensors side by side.
class ExpectedSet {
 public:
  explicit ExpectedSet(const std::filesystem::path& root);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const LeRobotReader& reader() const noexcept { return *reader_; }
  [[nodiscard]] const nlohmann::json& json() const noexcept { return json_; }
  [[nodiscard]] const nlohmann::json& positions() const { return json_.at("positions"); }
  // A stored tensor, own memory.
  [[nodiscard]] at::Tensor stored(const std::string& name) const;
  [[nodiscard]] bool has(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> cameras() const;
  // Position in the reader's list of the episode with this number.
  [[nodiscard]] std::int64_t episode_idx(std::int64_t number) const;

 private:
  std::string name_;
  std::unique_ptr<LeRobotReader> reader_;
  std::unique_ptr<SafetensorsFile> file_;
  nlohmann::json json_;
};

// WAM_DATASETS_DIR, else ../shared/data/lerobot beside the source folder.
std::filesystem::path datasets_folder();
// Folders there with an expected file, by name; empty (and a SKIPPED line) when there is no folder.
std::vector<std::filesystem::path> set_folders();

// Lower-case hex digests of a tensor's bytes, or of several tensors one after the other.
std::string sha256(const at::Tensor& bytes);
std::string md5(const std::vector<at::Tensor>& bytes);

}  // namespace wam::test
