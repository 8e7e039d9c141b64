#pragma once

#include <chrono>
#include <list>
#include <string>
#include <vector>

#include "test/dist/parallel/launch/rank_process.h"
#include "test/support/temp_folder.h"

namespace wam::test {

// Ranks of watch_program on this host, their outputs in a folder.
class WatchRanks {
 public:
  // `settings`: the program's arguments after the folder.
  WatchRanks(int count, const std::vector<std::string>& settings);

  RankProcess& rank(int rank) { return *ranks_.at(static_cast<std::size_t>(rank)); }
  // Returns when all have met: signals no longer end them.
  void wait_for_begin() const;
  // The exit codes by rank.
  std::vector<int> wait();
  // After its first words.
  [[nodiscard]] std::string output(int rank) const;
  [[nodiscard]] double seconds() const;

 private:
  TempFolder folder_;
  std::list<RankProcess> processes_;
  std::vector<RankProcess*> ranks_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// As the machine calls itself.
std::string own_host();

}  // namespace wam::test
