#include "test/dist/parallel/watch/watch_ranks.h"

#include <array>
#include <thread>

#include <unistd.h>

#include "test/support/catch.h"

namespace wam::test {
namespace {

std::string first_words(std::size_t rank) {
  return "rank " + std::to_string(rank) + " begins\n";
}

}  // namespace

WatchRanks::WatchRanks(int count, const std::vector<std::string>& settings) {
  const std::string port = free_port();
  for (int rank = 0; rank < count; ++rank) {
    std::vector<std::string> words{WAM_WATCH_PROGRAM, folder_.path().string()};
    words.insert(words.end(), settings.begin(), settings.end());
    ranks_.push_back(&processes_.emplace_back(words, by_torchrun(rank, count, port),
                                              folder_.path() / std::to_string(rank)));
  }
}

void WatchRanks::wait_for_begin() const {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    while (!ranks_[rank]->output().starts_with(first_words(rank))) {
      REQUIRE(std::chrono::steady_clock::now() < end);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
}

std::string WatchRanks::output(int rank) const {
  const auto idx = static_cast<std::size_t>(rank);
  const std::string all = ranks_.at(idx)->output();
  const std::string words = first_words(idx);
  REQUIRE(all.starts_with(words));
  return all.substr(words.size());
}

std::vector<int> WatchRanks::wait() {
  std::vector<int> codes;
  for (RankProcess* process : ranks_) codes.push_back(process->wait());
  return codes;
}

double WatchRanks::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

std::string own_host() {
  std::array<char, 256> name{};
  REQUIRE(::gethostname(name.data(), name.size() - 1) == 0);
  return name.data();
}

}  // namespace wam::test
