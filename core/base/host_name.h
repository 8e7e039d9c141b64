#pragma once

#include <optional>
#include <string>

namespace wam {

// What this machine calls itself; nothing where it does not say.
std::optional<std::string> host_name();

}  // namespace wam
