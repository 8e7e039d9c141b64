#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace wam::test {

// Runs a script of bash in a folder; its exit code. What it says goes to the file "said" there.
// $scripts: the folder of the project's scripts.
int bash(const std::filesystem::path& folder, const std::string& script);

// Words as bash reads them again, each with a space before it.
std::string quoted(const std::vector<std::string>& words);

}  // namespace wam::test
