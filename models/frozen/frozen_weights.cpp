#include "models/frozen/frozen_weights.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/errors.h"
#include "core/base/names.h"
#include "core/io/hash.h"
#include "core/io/tensor_file.h"
#include "core/weights/weights_source.h"

namespace wam {
namespace {

std::int64_t product(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

// A scalar may be stored as [] or as [1].
bool same_shape(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  const bool scalars = a.size() <= 1 && b.size() <= 1 && product(a) == 1 && product(b) == 1;
  return a == b || scalars;
}

// What stands in a source, by the encoder's own names (prefix taken off).
using Shapes = std::map<std::string, std::vector<std::int64_t>>;

constexpr std::size_t kMaxListed = 40;

std::string listed(const std::vector<std::string>& names) {
  std::vector<std::string> shown(
      names.begin(),
      names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMaxListed)));
  const std::string rest = names.size() > kMaxListed
                               ? fmt::format(" and {} more", names.size() - kMaxListed)
                               : std::string();
  return join(shown, ", ") + rest;
}

struct Mismatch {
  std::vector<std::string> missing;
  std::vector<std::string> unexpected;
  std::vector<std::string> misshapen;
};

Mismatch compare(const FrozenModel& model, const Shapes& found) {
  Mismatch out;
  std::vector<std::string> known;
  for (const FrozenTensor& tensor : model.tensors) {
    known.push_back(tensor.name);
    const auto at = found.find(tensor.name);
    if (at == found.end()) {
      if (tensor.needed) out.missing.push_back(tensor.name);
    } else if (!same_shape(at->second, tensor.shape)) {
      out.misshapen.push_back(fmt::format("{} is {}, expected {}", tensor.name,
                                          shape_text(at->second), shape_text(tensor.shape)));
    }
  }
  const std::set<std::string> names(known.begin(), known.end());
  for (const auto& [name, shape] : found) {
    const bool ignored = std::any_of(model.ignored_prefixes.begin(), model.ignored_prefixes.end(),
                                     [&](const std::string& p) { return name.starts_with(p); });
    if (!names.contains(name) && !ignored) out.unexpected.push_back(name);
  }
  return out;
}

// One error for everything that does not fit.
void require_match(const FrozenModel& model, const Shapes& found, const std::string& origin) {
  const Mismatch wrong = compare(model, found);
  std::vector<std::string> problems;
  const auto note = [&](const char* kind, const std::vector<std::string>& names) {
    if (!names.empty())
      problems.push_back(fmt::format("{} {}: {}", names.size(), kind, listed(names)));
  };
  note("missing", wrong.missing);
  note("unexpected", wrong.unexpected);
  note("of another shape", wrong.misshapen);
  require<DataError>(
      problems.empty(),
      "loading the {} from {}: {} of its {} tensors were looked at, and they do not "
      "fit.\n  {}\nFix: give the file of this very model, or the preset that the file "
      "belongs to.",
      model.what, origin, found.size(), model.tensors.size(), join(problems, "\n  "));
}

std::string origin_of(const FrozenSource& source) {
  if (source.prefix.empty()) return source.path.string();
  return fmt::format("{} (names that begin with {})", source.path.string(), source.prefix);
}

// The source's tensors by the encoder's names.
std::map<std::string, const TensorView*> views_of(const FrozenModel& model,
                                                  const FrozenSource& source,
                                                  const WeightsSource& files) {
  std::map<std::string, const TensorView*> out;
  for (const std::string& name : files.names_under(source.prefix)) {
    out.emplace(name, files.find(source.prefix + name));
  }
  require<DataError>(
      !out.empty(),
      "loading the {} from {}: it has no tensor whose name begins with {}. Fix: give "
      "a checkpoint that carries this encoder, or the encoder's own file.",
      model.what, source.path.string(), source.prefix);
  Shapes shapes;
  for (const auto& [name, view] : out) shapes.emplace(name, view->shape);
  require_match(model, shapes, origin_of(source));
  return out;
}

at::Tensor placed(const at::Tensor& tensor,
                  const FrozenTensor& spec,
                  const FrozenPlacement& placement) {
  // The copy comes first: on a GPU the conversion then needs no host memory.
  const at::Tensor moved = tensor.reshape(spec.shape).to(placement.device).to(placement.type);
  return moved.is_alias_of(tensor) ? moved.clone() : moved;
}

}  // namespace

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::vector<std::string> parts;
  for (const std::int64_t extent : shape) parts.push_back(std::to_string(extent));
  return "[" + join(parts) + "]";
}

std::int64_t FrozenTensor::numel() const {
  return product(shape);
}

std::int64_t FrozenModel::numel() const {
  std::int64_t count = 0;
  for (const FrozenTensor& tensor : tensors) count += tensor.numel();
  return count;
}

std::int64_t FrozenModel::needed_numel() const {
  std::int64_t count = 0;
  for (const FrozenTensor& tensor : tensors) count += tensor.needed ? tensor.numel() : 0;
  return count;
}

const at::Tensor& FrozenWeights::at(const std::string& name) const {
  const auto found = tensors_.find(name);
  require<InvariantError>(found != tensors_.end(), "no frozen weight named {} was loaded", name);
  return found->second;
}

void FrozenWeights::set(const std::string& name, at::Tensor tensor) {
  tensors_[name] = std::move(tensor);
}

std::int64_t FrozenWeights::bytes() const {
  std::int64_t total = 0;
  for (const auto& [name, tensor] : tensors_) total += static_cast<std::int64_t>(tensor.nbytes());
  return total;
}

FrozenWeights load_frozen(const FrozenModel& model,
                          const FrozenSource& source,
                          const FrozenPlacement& placement) {
  FrozenWeights out;
  if (source.seed) {
    for (const FrozenTensor& tensor : model.tensors) {
      if (!tensor.needed) continue;
      out.set(tensor.name,
              random_frozen(tensor, *source.seed, placement.type).to(placement.device));
    }
    return out;
  }
  const WeightsSource files(source.path);
  const auto views = views_of(model, source, files);
  for (const FrozenTensor& tensor : model.tensors) {
    if (!tensor.needed) continue;
    const at::Tensor mapped = map_tensor(*views.at(tensor.name));
    require<DataError>(
        mapped.is_floating_point(),
        "loading the {} from {}: {} is of type {}, expected a floating-point type. Fix: "
        "give the encoder's weights as they were published, not quantised.",
        model.what, origin_of(source), tensor.name, views.at(tensor.name)->dtype);
    out.set(tensor.name, placed(mapped, tensor, placement));
  }
  return out;
}

FrozenWeights given_frozen(const FrozenModel& model,
                           const std::map<std::string, at::Tensor>& tensors,
                           const FrozenPlacement& placement) {
  Shapes shapes;
  for (const auto& [name, tensor] : tensors) shapes.emplace(name, tensor.sizes().vec());
  require_match(model, shapes, "given tensors");
  FrozenWeights out;
  for (const FrozenTensor& tensor : model.tensors) {
    if (tensor.needed) out.set(tensor.name, placed(tensors.at(tensor.name), tensor, placement));
  }
  return out;
}

std::uint64_t frozen_fingerprint(const FrozenModel& model, const FrozenSource& source) {
  StreamHash hash;
  const auto add_text = [&](const std::string& text) { hash.update(text.data(), text.size()); };
  if (source.seed) {
    add_text(fmt::format("random {}\n", *source.seed));
    for (const FrozenTensor& tensor : model.tensors) {
      if (!tensor.needed) continue;
      add_text(fmt::format("{} {} {} {} {}\n", tensor.name, shape_text(tensor.shape),
                           tensor.random_mean, tensor.random_std, tensor.random_identity));
    }
    return hash.digest();
  }
  const WeightsSource files(source.path);
  const auto views = views_of(model, source, files);
  for (const FrozenTensor& tensor : model.tensors) {
    if (!tensor.needed) continue;
    const TensorView& view = *views.at(tensor.name);
    add_text(fmt::format("{} {} {}\n", tensor.name, shape_text(tensor.shape), view.dtype));
    hash.update(view.data, view.bytes);
  }
  return hash.digest();
}

}  // namespace wam
