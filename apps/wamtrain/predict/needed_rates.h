#pragma once

#include <string>
#include <vector>

#include "apps/wamtrain/rates/card_rates.h"
#include "parallel/estimate/spread.h"

namespace wam {

struct NamedRate {
  std::string name;  // as the file calls it
  Rate CardRates::*rate;
};

// What the time of this spread depends on, beside forward and backward.
std::vector<NamedRate> rates_needed(const Spread& spread);

}  // namespace wam
