#pragma once

#include <filesystem>

namespace wam {

// The program's own files (embodiment records, tiny tokenizer): $WAM_CONFIG_DIR, else configs/
// beside the executable, as in a bundle, else that of the source tree it was built from. Errors:
// ConfigError when neither is there.
std::filesystem::path configs_folder();

}  // namespace wam
