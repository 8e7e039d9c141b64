#include "parallel/launch/rank_words.h"

#include <fmt/core.h>

#include "core/base/names.h"

namespace wam {

std::string describe_ranks(const std::vector<int>& ranks) {
  constexpr std::size_t kShownRanks = 32;
  std::vector<std::string> names;
  for (const int rank : ranks) {
    if (names.size() == kShownRanks) break;
    names.push_back(std::to_string(rank));
  }
  std::string text = (ranks.size() == 1 ? "rank " : "ranks ") + join(names);
  if (ranks.size() > names.size()) text += fmt::format(" and {} more", ranks.size() - names.size());
  return text;
}

std::string store_reason(const c10::Error& error) {
  std::string text = error.what_without_backtrace();
  text.resize(text.find_last_not_of(" .?!\n") + 1);
  return text;
}

}  // namespace wam
