#include "test/e2e/support/rank_run.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "test/support/catch.h"

namespace wam::test {
namespace {

std::vector<RankPlace> same_places(const TinyRuns& runs, int world_size) {
  const RankPlace place{.folder = runs.path(), .start_with = {}, .variables = {}};
  return std::vector<RankPlace>(static_cast<std::size_t>(world_size), place);
}

}  // namespace

RankRun::RankRun(const TinyRuns& runs,
                 const std::string& run,
                 int world_size,
                 const TinyRuns::Overrides& overrides)
    : RankRun(runs, run, same_places(runs, world_size), overrides) {}

RankRun::RankRun(const TinyRuns& runs,
                 const std::string& run,
                 const std::vector<RankPlace>& places,
                 const TinyRuns::Overrides& overrides)
    : metrics_(runs.path() / run / "metrics.jsonl") {
  const auto arguments = runs.arguments("train", run, overrides);
  const std::string port = free_port();
  const int world_size = static_cast<int>(places.size());
  for (int rank = 0; rank < world_size; ++rank) {
    const RankPlace& place = places[static_cast<std::size_t>(rank)];
    std::vector<std::string> words = place.start_with;
    words.insert(words.end(), {"/usr/bin/env", "-C", place.folder.string(), WAM_PROGRAM});
    words.insert(words.end(), arguments.begin(), arguments.end());
    auto variables = place.variables;
    variables.merge(by_torchrun(rank, world_size, port));
    variables["OMP_WAIT_POLICY"] = "passive";
    const auto output = runs.path() / (run + "." + std::to_string(rank));
    ranks_.push_back(&processes_.emplace_back(words, variables, output));
  }
}

bool RankRun::wait_for_step(std::int64_t step) const {
  while (!std::filesystem::exists(metrics_) || num_lines(metrics_) < step) {
    if (has_ended()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

bool RankRun::has_ended() const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [](const RankProcess* rank) { return rank->has_ended(); });
}

std::vector<int> RankRun::wait() {
  std::vector<int> codes;
  for (RankProcess* rank : ranks_) codes.push_back(rank->wait());
  return codes;
}

std::string RankRun::output(int rank) const {
  return ranks_.at(static_cast<std::size_t>(rank))->output();
}

std::string RankRun::outputs() const {
  std::string out;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    out += "---- rank " + std::to_string(rank) + ":\n" + ranks_[rank]->output() + "\n";
  }
  return out;
}

void must_train(const TinyRuns& runs,
                const std::string& run,
                int world_size,
                const TinyRuns::Overrides& overrides) {
  RankRun start(runs, run, world_size, overrides);
  const auto codes = start.wait();
  INFO(start.outputs());
  REQUIRE(codes == std::vector<int>(static_cast<std::size_t>(world_size), 0));
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

std::map<std::string, std::string> shards(const TinyRuns& runs,
                                          const std::string& run,
                                          std::int64_t step) {
  auto out = folder_content(runs.checkpoint(run, step));
  REQUIRE(out.erase("manifest.json") == 1);
  return out;
}

}  // namespace wam::test
