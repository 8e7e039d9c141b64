#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/errors.h"

namespace wam {

// Another rank's part of common work has failed, which throws the error itself.
class FailedOnRank : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

// Every rank gives a text and gets those of all, in the order of the ranks. `key` is the same on
// all ranks and used once. Called on any thread. Errors: CommError when a rank does not come.
using ExchangeTexts =
    std::function<std::vector<std::string>(const std::string& key, const std::string& mine)>;

// Work that has succeeded when it has on every rank.
class RankAgreement {
 public:
  // Empty: this rank is the only one.
  explicit RankAgreement(ExchangeTexts exchange) : exchange_(std::move(exchange)) {}

  // Does this rank's part and returns every rank's result, when all have done theirs. Where one
  // failed, every rank throws: that rank what its part threw, the others FailedOnRank with the
  // first such rank and its message. Nobody waits for a rank that failed.
  std::vector<std::string> all(const std::string& key,
                               const std::function<std::string()>& part) const;

 private:
  ExchangeTexts exchange_;
};

}  // namespace wam
