#include "data/check/base64.h"

#include <cstdint>

namespace wam {

std::string base64(std::string_view bytes) {
  constexpr const char* kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = i; k < i + 3; ++k) {
      group = group << 8U | (k < bytes.size() ? static_cast<std::uint8_t>(bytes[k]) : 0U);
    }
    for (std::size_t d = 0; d < 4; ++d) {
      const bool is_padding = i + d > bytes.size();
      out += is_padding ? '=' : kDigits[group >> (18 - 6 * d) & 63U];
    }
  }
  return out;
}

}  // namespace wam
