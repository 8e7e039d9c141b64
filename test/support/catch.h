#pragma once

// Catch2 is version 2 on Debian 12 and Ubuntu 22.04, version 3 on newer ones; tests include this.
#if WAM_CATCH2_VERSION == 3
#include <string>

#include <catch2/catch_all.hpp>
using Catch::Approx;
namespace Catch {
inline auto Contains(const std::string& text) { return Matchers::ContainsSubstring(text); }
}  // namespace Catch
#else
#include <catch2/catch.hpp>
#endif
