#pragma once

#include <string>
#include <vector>

#include "data/check/check.h"
#include "data/check/verdict.h"

namespace wam {

// A report in lines of at most 96 characters but for long paths: what there is, then faults and
// notes by kind, the first few of each and how many more.
std::string check_text(const CheckReport& report);

// All of it as one JSON object: every fault, figures of every dimension and episode, no pictures.
std::string check_json(const std::vector<CheckReport>& reports, const Judgement& judgement);

// What training makes of a fault, in words.
std::string effect_text(Effect effect);

}  // namespace wam
