#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace wam {

// Samples of the whole run that were replaced, since their content is bad: how many, and which
// windows (dataset/episode/frame). The same on every rank; checkpoints hold it.
struct BadSamples {
  std::int64_t count = 0;
  std::set<std::string> windows;

  void add(const std::vector<std::string>& replaced) {
    count += static_cast<std::int64_t>(replaced.size());
    windows.insert(replaced.begin(), replaced.end());
  }
  bool operator==(const BadSamples&) const = default;
};

}  // namespace wam
