#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/train/unit.h"
#include "core/weights/weights_source.h"

namespace wam {

// Names without the prefix, sorted.
struct NameMatch {
  std::vector<std::string> missing;     // wanted, not in the source
  std::vector<std::string> unexpected;  // in the source under the prefix, not wanted
};

// Compares what the source has under `prefix` with what is wanted.
NameMatch match_names(const WeightsSource& source,
                      const std::string& prefix,
                      std::vector<std::string> wanted);
// Errors: DataError that lists missing and unexpected names (the first 20 of each), unless there
// are none.
void require_complete(const NameMatch& match,
                      const WeightsSource& source,
                      const std::string& prefix);

// Elements [begin, begin + out.numel()) of a tensor, flat, into `out` (one-dimensional, any device
// and float type; rounded to nearest even). `shape` is what is expected; a single value may be
// stored as [] or as [1].
// Errors: DataError naming tensor, found and expected shape, or a type that is no float.
void read_weights(const WeightsSource& source,
                  const std::string& name,
                  const std::vector<std::int64_t>& shape,
                  std::int64_t begin,
                  at::Tensor out);

enum class Strictness { kStrict, kLenient };

// Fills units from the source, tensor by tensor, names prefixed with `prefix`
// ("action_head.model."): this rank's part of state array "master" for trainable tensors, the
// compute copy for frozen ones (both allocated by the caller). Tensors that the source lacks are
// left as they are. Nothing of the model's size is held in between. kStrict: missing or unexpected
// names are a DataError, before anything is written. kLenient: they are returned; the caller
// initialises the missing ones and tells the user.
NameMatch load_units(const WeightsSource& source,
                     const std::string& prefix,
                     std::vector<Unit>& units,
                     Strictness strictness);

}  // namespace wam
