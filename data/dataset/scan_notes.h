#pragma once

#include <string>
#include <vector>

#include "data/dataset/scan.h"

namespace wam {

// What a user should know of a scan, a sentence each: which episodes have no window, and how many
// windows have no instruction but "not provided".
std::vector<std::string> scan_notes(const LeRobotReader& reader,
                                    const SetScan& scan,
                                    const WindowRule& rule);

}  // namespace wam
