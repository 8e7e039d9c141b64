#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset/scan.h"

namespace wam {

// Ascending numbers in words, neighbours as "first-last", and how many more after a hundred runs.
std::string numbers_in_runs(const std::vector<std::int64_t>& numbers);

// "3 of 9 episodes without a window (2 shorter than 97 frames): 1-2, 7". `without`: their numbers,
// of which `too_short` are shorter than `shortest` frames.
std::string no_window_text(const std::vector<std::int64_t>& without,
                           std::int64_t episodes,
                           std::int64_t too_short,
                           std::int64_t shortest);

// What a user should know of a scan, a sentence each: which episodes have no window, and how many
// windows have no instruction but "not provided".
std::vector<std::string> scan_notes(const LeRobotReader& reader,
                                    const SetScan& scan,
                                    const WindowRule& rule);

}  // namespace wam
