#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace wam::test {

struct Outcome {
  int exit_code = -1;
  double seconds = 0;
  std::string out;
  std::string err;
};

// Runs wamtrain with these arguments, from `folder`, and waits.
Outcome run_wamtrain(const std::vector<std::string>& arguments,
                     const std::filesystem::path& folder);

}  // namespace wam::test
