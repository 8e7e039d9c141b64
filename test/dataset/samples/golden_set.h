#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/io/safetensors.h"
#include "data/dataset/window_dataset.h"
#include "data/embodiment/binding.h"
#include "data/embodiment/embodiment.h"
#include "data/lerobot/reader.h"
#include "data/window/window.h"

namespace wam::test {

// What the reference pipeline makes of one dataset: NAME.json and NAME.safetensors.
class GoldenSet {
 public:
  explicit GoldenSet(const std::filesystem::path& json_file);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const nlohmann::json& json() const noexcept { return json_; }
  [[nodiscard]] const Embodiment& embodiment() const noexcept { return embodiment_; }
  [[nodiscard]] const std::shared_ptr<const LeRobotReader>& reader() const { return reader_; }
  [[nodiscard]] const Binding& binding() const noexcept { return binding_; }
  [[nodiscard]] bool official() const { return json_.at("pipeline") == "official"; }
  // The statistics that the samples were made with.
  [[nodiscard]] Statistics statistics() const;
  [[nodiscard]] WindowRule rule(bool bug_compatible) const;
  // A dataset as the reference has it.
  [[nodiscard]] std::shared_ptr<WindowDataset> open() const;

  // A stored array; T must be its type.
  template <class T>
  [[nodiscard]] std::vector<T> stored(const std::string& tensor) const {
    const TensorView& view = file_->at(tensor);
    std::vector<T> out(view.bytes / sizeof(T));
    std::copy_n(reinterpret_cast<const char*>(view.data), view.bytes,
                reinterpret_cast<char*>(out.data()));
    return out;
  }
  [[nodiscard]] bool has(const std::string& tensor) const;

 private:
  std::filesystem::path folder_;
  std::string name_;
  nlohmann::json json_;
  std::unique_ptr<SafetensorsFile> file_;
  Embodiment embodiment_;
  std::shared_ptr<const LeRobotReader> reader_;
  Binding binding_;
};

// WAM_SAMPLES_DIR, else ../shared/golden_samples beside the source folder.
std::filesystem::path samples_folder();
// Every set there whose dataset can be read and whose embodiment there is a record for; says which
// ones it leaves out, and prints a SKIPPED line when none is left.
std::vector<std::filesystem::path> golden_sets();

// Statistics inside a JSON file at `key` (a whole metadata.json when empty).
Statistics statistics_in(const std::filesystem::path& file,
                         const std::string& key,
                         const std::string& tag);

}  // namespace wam::test
