#pragma once

#include <cstdint>
#include <string>

namespace wam {

// 1234567 -> "1,234,567".
std::string with_commas(std::int64_t value);
// Bytes in binary units with three digits: "1.23 GiB".
std::string human_bytes(double bytes);
// Seconds as "4.2 s", "3 min 05 s", "2 h 07 min".
std::string human_seconds(double seconds);

}  // namespace wam
