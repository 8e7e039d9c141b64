#include "core/weights/weights_load.h"

#include <algorithm>
#include <iterator>

#include <fmt/ranges.h>

#include "core/base/errors.h"
#include "core/base/names.h"
#include "core/io/tensor_file.h"

namespace wam {
namespace {

std::string in_words(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

// RLinf promotes scalar parameters to [1].
bool same_shape(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  const auto single = [](const std::vector<std::int64_t>& shape) {
    return shape.empty() || (shape.size() == 1 && shape[0] == 1);
  };
  return a == b || (single(a) && single(b));
}

const TensorView& checked(const WeightsSource& source,
                          const std::string& name,
                          const std::vector<std::int64_t>& shape) {
  const TensorView& view = source.at(name);
  require<DataError>(
      same_shape(view.shape, shape),
      "reading the weights {}: {} has shape {}, expected {}. Fix: use weights of the "
      "model that the recipe names.",
      source.path().string(), name, in_words(view.shape), in_words(shape));
  require<DataError>(at::isFloatingType(scalar_type_of(view.dtype)),
                     "reading the weights {}: {} is of type {}, expected a float type.",
                     source.path().string(), name, view.dtype);
  return view;
}

std::string listed(const char* what, const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 20;
  if (names.empty()) return {};
  std::string out = fmt::format("\n  {} {}:", names.size(), what);
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) out += "\n    " + names[i];
  if (names.size() > kShown) out += fmt::format("\n    and {} more", names.size() - kShown);
  return out;
}

void load_trainable(const WeightsSource& source,
                    const std::string& name,
                    const TensorSpec& spec,
                    Unit& unit) {
  const ShardRange& shard = unit.shard();
  const std::int64_t begin = std::max(shard.begin, spec.offset);
  const std::int64_t end = std::min(shard.end, spec.offset + spec.numel());
  if (begin >= end) return;
  read_weights(source, name, spec.shape, begin - spec.offset,
               unit.state("master").narrow(0, begin - shard.begin, end - begin));
}

void load_tensor(const WeightsSource& source,
                 const std::string& prefix,
                 std::size_t tensor_idx,
                 Unit& unit) {
  const TensorSpec& spec = unit.spec().tensors[tensor_idx];
  const std::string name = prefix + spec.name;
  if (source.find(name) == nullptr) return;
  if (spec.trainable) {
    load_trainable(source, name, spec, unit);
  } else {
    read_weights(source, name, spec.shape, 0, unit.weight(tensor_idx).view({-1}));
  }
}

}  // namespace

NameMatch match_names(const WeightsSource& source,
                      const std::string& prefix,
                      std::vector<std::string> wanted) {
  std::sort(wanted.begin(), wanted.end());
  const auto found = source.names_under(prefix);
  NameMatch match;
  std::set_difference(wanted.begin(), wanted.end(), found.begin(), found.end(),
                      std::back_inserter(match.missing));
  std::set_difference(found.begin(), found.end(), wanted.begin(), wanted.end(),
                      std::back_inserter(match.unexpected));
  return match;
}

void require_complete(const NameMatch& match,
                      const WeightsSource& source,
                      const std::string& prefix) {
  if (match.missing.empty() && match.unexpected.empty()) return;
  throw DataError(fmt::format(
      "reading the weights {} (names that start with \"{}\"): they do not fit the model."
      "{}{}\nFix: use weights of the model that the recipe names.",
      source.path().string(), prefix, listed("missing", match.missing),
      listed("unexpected", match.unexpected)));
}

void read_weights(const WeightsSource& source,
                  const std::string& name,
                  const std::vector<std::int64_t>& shape,
                  std::int64_t begin,
                  at::Tensor out) {
  const TensorView& view = checked(source, name, shape);
  out.copy_(map_tensor(view).view({-1}).narrow(0, begin, out.numel()));
}

NameMatch load_units(const WeightsSource& source,
                     const std::string& prefix,
                     std::vector<Unit>& units,
                     Strictness strictness) {
  std::vector<std::string> wanted;
  for (const Unit& unit : units) {
    for (const TensorSpec& spec : unit.spec().tensors) {
      wanted.push_back(spec.name);
      // Every shape is checked before anything is written, on ranks that hold no part of it too.
      if (source.find(prefix + spec.name) != nullptr) {
        checked(source, prefix + spec.name, spec.shape);
      }
    }
  }
  NameMatch match = match_names(source, prefix, std::move(wanted));
  if (strictness == Strictness::kStrict) require_complete(match, source, prefix);
  for (Unit& unit : units) {
    for (std::size_t i = 0; i < unit.spec().tensors.size(); ++i) {
      load_tensor(source, prefix, i, unit);
    }
  }
  return match;
}

}  // namespace wam
