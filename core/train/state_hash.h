#pragma once

#include <string>
#include <vector>

#include "core/train/rank_agreement.h"
#include "core/train/unit.h"

namespace wam {

// A hash of the master weights and moments of all ranks, 16 hex digits, the same on every rank.
// Runs that are equal bit for bit have the same, where as many ranks hold the shards. Every rank
// calls it; `exchange` is empty with one. Errors: CommError when a rank does not come.
std::string state_hash(std::vector<Unit>& units, const ExchangeTexts& exchange);

}  // namespace wam
