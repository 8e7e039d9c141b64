#include "apps/wamtrain/install.h"

#include <cstdlib>

#include "core/base/errors.h"

namespace wam {

std::filesystem::path configs_folder() {
  std::error_code error;
  if (const char* given = std::getenv("WAM_CONFIG_DIR"); given != nullptr && *given != '\0') {
    return given;
  }
  const auto executable = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto beside = executable.parent_path() / "configs";
  if (!error && std::filesystem::is_directory(beside / "embodiment", error)) return beside;
  const std::filesystem::path source = WAM_CONFIGS_DIR;
  require<ConfigError>(std::filesystem::is_directory(source / "embodiment", error),
                       "Looking for the embodiment records: found neither {} nor {}.\n"
                       "Fix: put the project's configs folder beside the executable.",
                       beside.string(), source.string());
  return source;
}

}  // namespace wam
