#include "test/dataset/samples/golden_set.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "test/support/temp_folder.h"

namespace wam::test {
namespace {

const std::filesystem::path kSource = WAM_SOURCE_DIR;

std::filesystem::path folder_of(const char* variable, const char* fallback) {
  const char* set = std::getenv(variable);
  return set != nullptr ? std::filesystem::path(set) : kSource / fallback;
}

std::filesystem::path datasets_folder() {
  return folder_of("WAM_DATASETS_DIR", "../shared/data/lerobot");
}

// Why a set cannot be tested here; empty when it can.
std::string obstacle(const nlohmann::json& set) {
  const auto known = embodiment_names(kSource / "configs/embodiment");
  const auto embodiment = set.at("embodiment").get<std::string>();
  if (std::find(known.begin(), known.end(), embodiment) == known.end()) {
    return "no record of embodiment " + embodiment;
  }
  const auto root = datasets_folder() / set.at("dataset").get<std::string>();
  if (!std::filesystem::is_directory(root)) return "no dataset " + root.string();
  return "";
}

}  // namespace

std::filesystem::path samples_folder() {
  return folder_of("WAM_SAMPLES_DIR", "../shared/golden_samples");
}

std::vector<std::filesystem::path> golden_sets() {
  std::vector<std::filesystem::path> out;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(samples_folder(), ignored)) {
    const auto& path = entry.path();
    auto data = path;
    if (path.extension() != ".json" ||
        !std::filesystem::exists(data.replace_extension(".safetensors"))) {
      continue;
    }
    const auto reason = obstacle(nlohmann::json::parse(read_file(path)));
    if (reason.empty()) {
      out.push_back(path);
    } else {
      std::cout << "left out: " << path.filename().string() << " (" << reason << ")\n";
    }
  }
  std::sort(out.begin(), out.end());
  if (out.empty()) {
    std::cout << "SKIPPED: no set of samples in " << samples_folder().string() << " with data in "
              << datasets_folder().string() << "\n";
  }
  return out;
}

Statistics statistics_in(const std::filesystem::path& file,
                         const std::string& key,
                         const std::string& tag) {
  if (key.empty()) return read_statistics(file, tag);
  const TempFolder folder;
  const auto part = folder.path() / "metadata.json";
  write_file_atomically(part, nlohmann::json::parse(read_file(file)).at(key).dump());
  return read_statistics(part, tag);
}

GoldenSet::GoldenSet(const std::filesystem::path& json_file)
    : folder_(json_file.parent_path()),
      name_(json_file.stem().string()),
      json_(nlohmann::json::parse(read_file(json_file))),
      file_(std::make_unique<SafetensorsFile>(
          std::filesystem::path(json_file).replace_extension(".safetensors"))),
      embodiment_(find_embodiment(json_.at("embodiment").get<std::string>(),
                                  kSource / "configs/embodiment")),
      reader_(std::make_shared<LeRobotReader>(datasets_folder() /
                                              json_.at("dataset").get<std::string>())),
      binding_(bind(*reader_, embodiment_)) {}

Statistics GoldenSet::statistics() const {
  const auto source = json_.at("metadata").get<std::string>();  // "FILE" or "FILE: KEY"
  const auto colon = source.find(": ");
  return statistics_in(folder_ / source.substr(0, colon),
                       colon == std::string::npos ? "" : source.substr(colon + 2), embodiment_.tag);
}

WindowRule GoldenSet::rule(bool bug_compatible) const {
  const auto& sampling = json_.at("sampling");
  return {sampling.at("K").get<std::int64_t>(), sampling.at("H").get<std::int64_t>(),
          sampling.at("S").get<std::int64_t>(), sampling.at("O").get<std::vector<std::int64_t>>(),
          bug_compatible};
}

std::shared_ptr<WindowDataset> GoldenSet::open() const {
  WindowDatasetOptions options;
  options.members = {{reader_, embodiment_, binding_, statistics(), 1.0, 0}};
  options.blocks = rule(true).blocks;
  options.view_height = json_.at("view_size")[0].get<std::int64_t>();
  options.view_width = json_.at("view_size")[1].get<std::int64_t>();
  options.bug_compatible = true;
  return open_window_datasets(std::move(options)).training;
}

bool GoldenSet::has(const std::string& tensor) const {
  return file_->tensors().count(tensor) > 0;
}

}  // namespace wam::test
