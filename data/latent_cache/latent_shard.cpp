#include "data/latent_cache/latent_shard.h"

#include <cstring>
#include <utility>
#include <vector>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include "core/base/data_errors.h"
#include "core/base/now_reading.h"
#include "core/io/disk.h"
#include "core/io/hash.h"
#include "core/io/shared_folder.h"
#include "core/io/tensor_file.h"

namespace wam {
namespace {

constexpr const char* kFormat = "wamtrain latents 1";

using Named = std::vector<std::pair<std::string, at::Tensor>>;

// The tensors that an item, or a stack of them, has.
Named named(const EncodedPictures& pictures) {
  Named out{{"latent", pictures.latent_BCFYX}, {"image", pictures.image_BMD}};
  if (pictures.still_BCFYX.defined()) out.emplace_back("still", pictures.still_BCFYX);
  return out;
}

std::int64_t hash_of(const EncodedPictures& item) {
  StreamHash hash;
  for (const auto& [name, tensor] : named(item)) {
    hash.update(tensor.const_data_ptr(), tensor.nbytes());
  }
  return static_cast<std::int64_t>(hash.digest());
}

EncodedPictures item_of(const EncodedPictures& stacked, std::int64_t at) {
  return {stacked.latent_BCFYX[at],
          stacked.still_BCFYX.defined() ? stacked.still_BCFYX[at] : at::Tensor(),
          stacked.image_BMD[at]};
}

std::vector<std::int64_t> with_count(std::int64_t count, std::vector<std::int64_t> shape) {
  shape.insert(shape.begin(), count);
  return shape;
}

std::string bad_key(std::int64_t at) {
  return fmt::format("bad.{}", at);
}

}  // namespace

LatentItems::LatentItems(const LatentForm& form, const LatentShardPlace& place) {
  const auto latent = with_count(place.items, form.latent_shape(place.frames));
  stacked.latent_BCFYX = at::zeros(latent, form.type);
  if (form.has_still) stacked.still_BCFYX = at::zeros(latent, form.type);
  stacked.image_BMD = at::zeros({place.items, form.tokens, form.width}, form.type);
}

void LatentItems::put(std::int64_t at, const EncodedPictures& batch, std::int64_t from) {
  const Named to = named(item_of(stacked, at));
  const Named values = named(item_of(batch, from));
  invariant(to.size() == values.size(), "an item with the tensors of the form");
  for (std::size_t i = 0; i < to.size(); ++i) {
    invariant(to[i].second.sizes() == values[i].second.sizes() &&
                  to[i].second.scalar_type() == values[i].second.scalar_type(),
              "an item of the form's sizes and type");
    to[i].second.copy_(values[i].second);
  }
}

void LatentShard::write(const std::filesystem::path& path,
                        const LatentItems& items,
                        const std::string& contents) {
  const std::int64_t count = items.stacked.latent_BCFYX.size(0);
  const at::Tensor hash = at::empty({count}, at::kLong);
  for (std::int64_t at = 0; at < count; ++at) {
    hash.mutable_data_ptr<std::int64_t>()[at] = hash_of(item_of(items.stacked, at));
  }
  Named tensors = named(items.stacked);
  tensors.emplace_back("hash", hash);
  std::map<std::string, std::string> metadata{{"format", kFormat}, {"contents", contents}};
  for (const auto& [at, why] : items.bad) metadata[bad_key(at)] = why;
  std::vector<TensorHeader> headers;
  for (const auto& [name, tensor] : tensors) {
    headers.push_back({name, dtype_name(tensor.scalar_type()), tensor.sizes().vec()});
  }
  const std::filesystem::path temporary = private_name(path);
  SafetensorsWriter writer(temporary, std::move(headers), metadata);
  for (const auto& [name, tensor] : tensors) {
    writer.write_next(tensor.const_data_ptr(), tensor.nbytes());
  }
  writer.finish();
  rename_and_sync(temporary, path);
}

LatentShard::LatentShard(const std::filesystem::path& path,
                         const LatentForm& form,
                         const LatentShardPlace& place,
                         const std::string& contents)
    : file_(path), place_(place), has_still_(form.has_still) {
  const auto says = [&](const std::string& key) {
    const auto found = file_.metadata().find(key);
    return found == file_.metadata().end() ? std::string() : found->second;
  };
  require<DataError>(says("format") == kFormat && says("contents") == contents,
                     "opening {}: it is no file of these latents ({}, of {}).", path.string(),
                     kFormat, contents);
  const auto latent = with_count(place.items, form.latent_shape(place.frames));
  const auto check = [&](const std::string& name, const std::vector<std::int64_t>& shape,
                         at::ScalarType type) {
    const TensorView& view = file_.at(name);
    require<DataError>(view.shape == shape && view.dtype == dtype_name(type),
                       "opening {}: {} has another shape or type than its cache says.",
                       path.string(), name);
  };
  check("latent", latent, form.type);
  if (has_still_) check("still", latent, form.type);
  check("image", {place.items, form.tokens, form.width}, form.type);
  check("hash", {place.items}, at::kLong);
}

at::Tensor LatentShard::mapped(const std::string& name, std::int64_t at) const {
  const TensorView& all = file_.at(name);
  const std::vector<std::int64_t> shape(all.shape.begin() + 1, all.shape.end());
  const std::size_t bytes = all.bytes / static_cast<std::size_t>(place_.items);
  // from_blob wants a pointer to non-const; nobody writes to an item.
  auto* data = const_cast<std::byte*>(all.data) + static_cast<std::size_t>(at) * bytes;
  return at::from_blob(
      data, shape, [keep = shared_from_this()](void*) {},
      at::TensorOptions().dtype(scalar_type_of(all.dtype)));
}

EncodedPictures LatentShard::view(std::int64_t at) const {
  return {mapped("latent", at), has_still_ ? mapped("still", at) : at::Tensor(),
          mapped("image", at)};
}

bool LatentShard::hash_holds(std::int64_t at, const EncodedPictures& item) const {
  std::int64_t expected = 0;
  std::memcpy(&expected, file_.at("hash").data + static_cast<std::size_t>(at) * sizeof expected,
              sizeof expected);
  return hash_of(item) == expected;
}

EncodedPictures LatentShard::item(std::int64_t at) const {
  const Reading reading(path());
  const auto bad = file_.metadata().find(bad_key(at));
  if (bad != file_.metadata().end()) throw ContentError(bad->second);
  EncodedPictures found = view(at);
  require<DataError>(
      hash_holds(at, found),
      "reading {}: item {} does not have the hash that it was written with; the file "
      "is damaged. Fix: wamtrain cache RECIPE --what latents, which finds such files "
      "and encodes them again.",
      path().string(), place_.first + at);
  return found;
}

bool LatentShard::is_whole() const {
  const Reading reading(path());
  for (std::int64_t at = 0; at < place_.items; ++at) {
    if (!hash_holds(at, view(at))) return false;
  }
  return true;
}

}  // namespace wam
