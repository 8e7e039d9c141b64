#pragma once

#include <string>

#include "core/base/log.h"
#include "data/dataset/set_index.h"

namespace wam {

// Where the indices of a run's datasets are kept, and what is said while one is built: on a
// terminal a bar, elsewhere a line now and then; nothing for sets that are read within a second.
// `log` must live as long. `keep` false: indices are used and none are written.
SetIndexOptions index_options(const std::filesystem::path& folder, bool keep, Log& log);

}  // namespace wam
