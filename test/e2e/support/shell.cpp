#include "test/e2e/support/shell.h"

#include <cstdlib>
#include <fstream>

#include <fmt/core.h>
#include <sys/wait.h>

namespace wam::test {

int bash(const std::filesystem::path& folder, const std::string& script) {
  std::ofstream(folder / "script.sh") << "set -u\nexport WAM_RESTART_WAIT_S=0\n"
                                      << "scripts='" WAM_SOURCE_DIR "/scripts'\n"
                                      << script;
  const std::string command =
      fmt::format("cd '{}' && timeout 120 bash script.sh >said 2>&1", folder.string());
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string quoted(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += fmt::format(" '{}'", word);
  return out;
}

}  // namespace wam::test
