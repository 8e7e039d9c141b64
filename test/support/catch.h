#pragma once

// Catch2 is version 2 on Debian 12 and Ubuntu 22.04, version 3 on newer ones; tests include this.
#if WAM_CATCH2_VERSION == 3
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
