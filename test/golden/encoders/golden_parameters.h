#pragma once

#include <map>
#include <string>

#include <ATen/core/Tensor.h>

#include "test/support/golden.h"

namespace wam::test {

// Limits of test/golden/README.md.
inline constexpr double kDoubleLimit = 1e-9;
inline constexpr double kStoredAsFloatLimit = 2e-7;
inline constexpr double kFloatLimit = 2e-5;

// The file's parameters by name; `prefix` is put before each.
inline std::map<std::string, at::Tensor> golden_parameters(const GoldenFile& golden,
                                                           at::ScalarType type,
                                                           const std::string& prefix = "") {
  std::map<std::string, at::Tensor> out;
  for (const std::string& name : golden.formula_names("param.")) {
    out.emplace(prefix + name.substr(std::string("param.").size()), golden.build(name, type));
  }
  return out;
}

// The limit for a result in `type` against a stored tensor.
inline double golden_limit(const GoldenFile& golden,
                           const std::string& stored,
                           at::ScalarType type) {
  if (type == at::kFloat) return kFloatLimit;
  return golden.file().at(stored).dtype == "F64" ? kDoubleLimit : kStoredAsFloatLimit;
}

}  // namespace wam::test
