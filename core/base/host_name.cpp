#include "core/base/host_name.h"

#include <array>

#include <unistd.h>

namespace wam {

std::optional<std::string> host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return std::nullopt;
  return name.data();
}

}  // namespace wam
