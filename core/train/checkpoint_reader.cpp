#include "core/train/checkpoint_reader.h"

#include <algorithm>
#include <system_error>

#include <ATen/ops/empty.h>

#include "core/base/errors.h"
#include "core/base/names.h"
#include "core/io/atomic_file.h"
#include "core/io/tensor_file.h"

namespace wam {

CheckpointReader::CheckpointReader(const std::filesystem::path& folder) : folder_(folder) {
  const std::filesystem::path path = folder / "manifest.json";
  manifest_ = parse_manifest(read_file(path), path.string());
  check_files();
  files_.resize(manifest_.files.size());
  for (std::size_t u = 0; u < manifest_.units.size(); ++u) {
    const auto& tensors = manifest_.units[u].tensors;
    for (std::size_t t = 0; t < tensors.size(); ++t) place_of_[tensors[t].name] = {u, t};
  }
}

void CheckpointReader::check_files() const {
  for (const ManifestFile& f : manifest_.files) {
    std::error_code error;
    const std::uintmax_t bytes = std::filesystem::file_size(folder_ / f.name, error);
    require<DataError>(
        !error,
        "opening the checkpoint {}: {} cannot be opened ({}). Fix: put the file back, or "
        "use an older checkpoint.",
        folder_.string(), f.name, error.message());
    require<DataError>(bytes == f.bytes,
                       "opening the checkpoint {}: {} has {} bytes, expected {}. Fix: use an older "
                       "checkpoint.",
                       folder_.string(), f.name, bytes, f.bytes);
  }
  for (const ManifestUnit& unit : manifest_.units) {
    for (const HeldRange& held : unit.held) {
      require<DataError>(
          held.holder < manifest_.files.size(),
          "opening the checkpoint {}: unit {} names file {} of {}. Fix: use an older "
          "checkpoint.",
          folder_.string(), unit.name, held.holder, manifest_.files.size());
    }
  }
}

const SafetensorsFile& CheckpointReader::file(std::size_t file_idx) {
  auto& slot = files_[file_idx];
  if (!slot) slot = std::make_unique<SafetensorsFile>(folder_ / manifest_.files[file_idx].name);
  return *slot;
}

void CheckpointReader::read(const std::string& unit,
                            const std::string& array,
                            std::int64_t begin,
                            at::Tensor out) {
  const ManifestUnit& saved = manifest_.unit(unit);
  const std::string name = unit + "/" + array;
  const auto copies =
      plan_range(saved.held, saved.trainable_numel, begin, begin + out.numel(), name);
  for (const RangeCopy& copy : copies) {
    const TensorView& view = file(copy.holder).at(name);
    const at::Tensor held = map_tensor(view);
    require<DataError>(
        held.dim() == 1 && copy.holder_offset + copy.numel <= held.numel(),
        "reading {} of the checkpoint {}: {} holds {} elements, its manifest says at "
        "least {}.",
        name, folder_.string(), manifest_.files[copy.holder].name, held.numel(),
        copy.holder_offset + copy.numel);
    out.narrow(0, copy.target_offset, copy.numel)
        .copy_(held.narrow(0, copy.holder_offset, copy.numel));
  }
}

at::Tensor CheckpointReader::read_tensor(const std::string& name, const std::string& array) {
  const auto place = place_of_.find(name);
  if (place == place_of_.end()) {
    const auto near = nearest_name(name, tensor_names());
    throw DataError(fmt::format("reading the checkpoint {}: it has no tensor {}{}.",
                                folder_.string(), name,
                                near ? fmt::format(" (nearest: {})", *near) : ""));
  }
  const ManifestUnit& unit = manifest_.units[place->second.first];
  const TensorSpec& spec = unit.tensors[place->second.second];
  require<DataError>(spec.trainable,
                     "reading the checkpoint {}: {} was frozen, its values are in the source that "
                     "the manifest names, not in the checkpoint.",
                     folder_.string(), name);
  const auto type = unit.arrays.find(array);
  require<DataError>(type != unit.arrays.end(),
                     "reading the checkpoint {}: unit {} has no state array {}.", folder_.string(),
                     unit.name, array);
  at::Tensor out =
      at::empty({spec.numel()}, at::TensorOptions().dtype(scalar_type_of(type->second)));
  read(unit.name, array, spec.offset, out);
  return out.view(spec.shape);
}

std::vector<std::string> CheckpointReader::tensor_names() const {
  std::vector<std::string> names;
  for (const ManifestUnit& unit : manifest_.units) {
    for (const TensorSpec& t : unit.tensors) {
      if (t.trainable) names.push_back(t.name);
    }
  }
  return names;
}

void CheckpointReader::check_fits(const std::vector<Unit>& units) const {
  std::vector<std::string> differences;
  for (const Unit& unit : units) {
    const auto saved =
        std::find_if(manifest_.units.begin(), manifest_.units.end(),
                     [&](const ManifestUnit& u) { return u.name == unit.spec().name; });
    if (saved == manifest_.units.end()) {
      differences.push_back("the checkpoint has no unit " + unit.spec().name);
      continue;
    }
    for (std::string& line : unit_differences(*saved, unit.spec())) {
      differences.push_back(std::move(line));
    }
    const std::string type = dtype_name(unit.placement().state_type);
    for (const auto& [array, saved_type] : saved->arrays) {
      if (saved_type != type) {
        differences.push_back(fmt::format("{}/{} is {} in the checkpoint, {} in the run",
                                          saved->name, array, saved_type, type));
      }
    }
  }
  for (const ManifestUnit& saved : manifest_.units) {
    if (std::none_of(units.begin(), units.end(),
                     [&](const Unit& u) { return u.spec().name == saved.name; })) {
      differences.push_back("the run has no unit " + saved.name);
    }
  }
  constexpr std::size_t kShown = 20;
  if (differences.empty()) return;
  const std::size_t total = differences.size();
  if (total > kShown) {
    differences.resize(kShown);
    differences.push_back(fmt::format("and {} more", total - kShown));
  }
  throw DataError(fmt::format(
      "restoring the checkpoint {}: it is of another model.\n  {}\nFix: use the recipe that it was "
      "written with (its manifest holds it).",
      folder_.string(), join(differences, "\n  ")));
}

void CheckpointReader::restore(std::vector<Unit>& units) {
  check_fits(units);
  for (Unit& unit : units) {
    for (const std::string& array : unit.spec().state_arrays) {
      read(unit.spec().name, array, unit.shard().begin, unit.state(array));
    }
  }
}

}  // namespace wam
