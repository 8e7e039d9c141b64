#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace wam {

// 1234567 -> "1,234,567".
std::string with_commas(std::int64_t value);
// "1 fault", "1,234 faults".
std::string counted(std::int64_t count, std::string_view word);
// Bytes in binary units with three digits: "1.23 GiB".
std::string human_bytes(double bytes);
// Seconds as "4.2 s", "3 min 05 s", "2 h 07 min".
std::string human_seconds(double seconds);
// Up to the first line break.
std::string first_line(std::string_view text);
// Words in lines of at most `columns`, each behind `indent` spaces and ended by a newline. Lines of
// the text that begin with a space, as entries to copy do, are not broken.
std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent = 0);

}  // namespace wam
