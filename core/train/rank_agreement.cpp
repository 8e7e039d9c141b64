#include "core/train/rank_agreement.h"

#include <exception>

#include "core/base/errors.h"

namespace wam {
namespace {

// The first letter of what is exchanged tells a result from a failure.
constexpr char kResult = '+';
constexpr char kFailure = '-';

}  // namespace

std::vector<std::string> RankAgreement::all(const std::string& key,
                                            const std::function<std::string()>& part) const {
  if (!exchange_) return {part()};
  std::exception_ptr own;
  std::string text;
  try {
    text = kResult + part();
  } catch (const std::exception& e) {
    own = std::current_exception();
    text = kFailure + std::string(e.what());
  }
  std::vector<std::string> texts;
  try {
    texts = exchange_(key, text);
  } catch (...) {
    if (own) std::rethrow_exception(own);  // the reason why nobody is there any more, perhaps
    throw;
  }
  if (own) std::rethrow_exception(own);
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    require<InvariantError>(!texts[rank].empty(), "an empty text of rank {} for {}", rank, key);
    require<FailedOnRank>(texts[rank].front() == kResult, "rank {}: {}", rank,
                          texts[rank].substr(1));
    texts[rank].erase(0, 1);
  }
  return texts;
}

}  // namespace wam
