#include "core/weights/weights_source.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/base/errors.h"
#include "core/base/format.h"
#include "core/base/names.h"
#include "core/base/parallel.h"
#include "core/io/atomic_file.h"
#include "core/io/hash.h"

namespace wam {
namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

// shard -> names in it.
std::map<std::string, std::vector<std::string>> read_index(const fs::path& index) {
  const auto json = nlohmann::json::parse(read_file(index), nullptr, false);
  require<DataError>(
      json.is_object() && json.contains("weight_map") && json["weight_map"].is_object(),
      "opening {}: it is not a JSON object with a weight_map. Fix: fetch it again.",
      index.string());
  std::map<std::string, std::vector<std::string>> names_of;
  for (const auto& [name, shard] : json["weight_map"].items()) {
    require<DataError>(shard.is_string(), "opening {}: {} has no file name.", index.string(), name);
    names_of[shard.get<std::string>()].push_back(name);
  }
  return names_of;
}

std::vector<fs::path> safetensors_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == ".safetensors") found.push_back(entry.path());
  }
  return found;
}

}  // namespace

WeightsSource::WeightsSource(const fs::path& path) : path_(path) {
  std::error_code error;
  require<DataError>(fs::exists(path, error),
                     "opening the weights {}: there is no such file or folder. Fix: check the path "
                     "in the recipe.",
                     path.string());
  if (fs::is_directory(path, error)) {
    open_folder(path);
  } else {
    require<DataError>(
        path.extension() == ".safetensors",
        "opening the weights {}: expected a .safetensors file or a folder with some. "
        "Fix: convert it to safetensors.",
        path.string());
    open_file(path);
  }
}

void WeightsSource::open_folder(const fs::path& folder) {
  for (const char* stem : {"model", "diffusion_pytorch_model"}) {
    const fs::path single = folder / fmt::format("{}.safetensors", stem);
    const fs::path index = folder / fmt::format("{}.safetensors.index.json", stem);
    if (is_file(index)) return open_index(index);
    if (is_file(single)) return open_file(single);
  }
  const auto found = safetensors_in(folder);
  require<DataError>(found.size() == 1,
                     "opening the weights {}: found {} .safetensors files and neither "
                     "model.safetensors(.index.json) nor "
                     "diffusion_pytorch_model.safetensors(.index.json). Fix: name the file itself, "
                     "or fetch the index.",
                     folder.string(), found.size());
  open_file(found.front());
}

void WeightsSource::open_file(const fs::path& file) {
  files_.push_back(std::make_unique<SafetensorsFile>(file));
  for (const auto& [name, view] : files_.back()->tensors()) tensors_[name] = &view;
}

void WeightsSource::open_index(const fs::path& index) {
  const auto names_of = read_index(index);
  std::vector<std::string> missing;
  for (const auto& entry : names_of) {
    if (!is_file(index.parent_path() / entry.first)) missing.push_back(entry.first);
  }
  require<DataError>(missing.empty(),
                     "opening {}: {} of its {} files are missing: {}. Fix: fetch them.",
                     index.string(), missing.size(), names_of.size(), join(missing));
  for (const auto& [shard, names] : names_of) {
    files_.push_back(std::make_unique<SafetensorsFile>(index.parent_path() / shard));
    for (const std::string& name : names) tensors_[name] = &files_.back()->at(name);
  }
}

const TensorView* WeightsSource::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : found->second;
}

const TensorView& WeightsSource::at(const std::string& name) const {
  if (const TensorView* view = find(name)) return *view;
  const auto near = nearest_name(name, names_under(""));
  throw DataError(fmt::format("reading the weights {}: no tensor named {}{}.", path_.string(), name,
                              near ? fmt::format(" (nearest: {})", *near) : ""));
}

std::vector<std::string> WeightsSource::names_under(const std::string& prefix) const {
  std::vector<std::string> names;
  for (auto at = tensors_.lower_bound(prefix);
       at != tensors_.end() && at->first.starts_with(prefix); ++at) {
    names.push_back(at->first.substr(prefix.size()));
  }
  return names;
}

std::string WeightsSource::content_hash_under(const std::string& prefix) const {
  const auto names = names_under(prefix);
  std::vector<std::uint64_t> hashes(names.size());
  for_each_index(names.size(), 0, [&](std::size_t i) {
    const TensorView& view = at(prefix + names[i]);
    hashes[i] = content_hash(view.data, view.bytes);
  });
  StreamHash whole;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const TensorView& view = at(prefix + names[i]);
    const std::string line = fmt::format("{} {} {} {:016x}\n", names[i], view.dtype,
                                         fmt::join(view.shape, ","), hashes[i]);
    whole.update(line.data(), line.size());
  }
  return hash_hex(whole.digest());
}

std::string WeightsSource::summary() const {
  std::uint64_t bytes = 0;
  for (const auto& entry : tensors_) bytes += entry.second->bytes;
  return fmt::format("{} {}, {} tensors, {}", files_.size(), files_.size() == 1 ? "file" : "files",
                     with_commas(static_cast<std::int64_t>(tensors_.size())),
                     human_bytes(static_cast<double>(bytes)));
}

}  // namespace wam
