#pragma once

#include <string>
#include <vector>

#include <c10/util/Exception.h>

namespace wam {

// "rank 3", "ranks 1, 3" or "ranks 0, 1, … and 200 more" for messages.
std::string describe_ranks(const std::vector<int>& ranks);

// What a c10d store says, in one line without the end of a sentence.
std::string store_reason(const c10::Error& error);

}  // namespace wam
