#include "models/frozen/weight_files.h"

#include <set>

#include <nlohmann/json.hpp>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"

namespace wam {

namespace fs = std::filesystem;

WeightFiles::WeightFiles(const fs::path& path) {
  require<DataError>(fs::exists(path),
                     "loading weights from {}: it does not exist. Fix: check the path.",
                     path.string());
  if (fs::is_directory(path)) {
    open_folder(path);
    return;
  }
  require<DataError>(path.extension() == ".safetensors",
                     "loading weights from {}: expected a .safetensors file or a folder. Fix: "
                     "convert the file to safetensors with its tensor names as they are.",
                     path.string());
  add(path);
}

void WeightFiles::open_folder(const fs::path& folder) {
  const fs::path index = folder / "model.safetensors.index.json";
  const fs::path single = folder / "model.safetensors";
  if (fs::exists(index)) return open_shards(index);
  if (fs::exists(single)) return add(single);
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".safetensors") found.push_back(entry.path());
  }
  require<DataError>(found.size() == 1,
                     "loading weights from folder {}: expected model.safetensors, "
                     "model.safetensors.index.json or a single .safetensors file, found {} "
                     ".safetensors files. Fix: name the file itself.",
                     folder.string(), found.size());
  add(found.front());
}

void WeightFiles::open_shards(const fs::path& index) {
  const auto json = nlohmann::json::parse(read_file(index), nullptr, false);
  const bool well_formed =
      json.is_object() && json.contains("weight_map") && json.at("weight_map").is_object();
  require<DataError>(well_formed, "reading {}: expected a JSON object with a weight_map.",
                     index.string());
  std::set<std::string> shards;
  for (const auto& [name, shard] : json.at("weight_map").items()) {
    require<DataError>(shard.is_string(), "reading {}: the shard of {} is not a file name.",
                       index.string(), name);
    shards.insert(shard.get<std::string>());
  }
  for (const std::string& shard : shards) {
    const fs::path file = index.parent_path() / shard;
    require<DataError>(fs::exists(file),
                       "reading {}: it names {}, which is not there. Fix: fetch the missing shard.",
                       index.string(), shard);
    add(file);
  }
  for (const auto& [name, shard] : json.at("weight_map").items()) {
    require<DataError>(tensors_.contains(name), "reading {}: {} is not in {}, where it should be.",
                       index.string(), name, shard.get<std::string>());
  }
}

void WeightFiles::add(const fs::path& file) {
  files_.push_back(std::make_unique<SafetensorsFile>(file));
  for (const auto& [name, view] : files_.back()->tensors()) {
    const bool fresh = tensors_.emplace(name, &view).second;
    require<DataError>(fresh, "loading weights from {}: {} is in two files.", file.string(), name);
  }
}

}  // namespace wam
