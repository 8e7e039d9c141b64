#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/train/model.h"
#include "core/train/unit.h"

namespace wam {

// Writes the model's initial values into this rank's masters (and, for frozen tensors, into the
// compute copies): all tensors, or those named. One whole tensor at a time is in memory.
// Errors: InvariantError for a name that no unit has.
void initialise_units(const Model& model, std::vector<Unit>& units, std::uint64_t seed);
void initialise_units(const Model& model,
                      std::vector<Unit>& units,
                      std::uint64_t seed,
                      const std::vector<std::string>& names);

}  // namespace wam
