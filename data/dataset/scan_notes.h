#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset/scan.h"

namespace wam {

// Ascending numbers in words, neighbours as "first-last", and how many more after a hundred runs.
std::string numbers_in_runs(const std::vector<std::int64_t>& numbers);

// What a user should know of a scan, a sentence each: which episodes have no window, and how many
// windows have no instruction but "not provided".
std::vector<std::string> scan_notes(const LeRobotReader& reader,
                                    const SetScan& scan,
                                    const WindowRule& rule);

}  // namespace wam
