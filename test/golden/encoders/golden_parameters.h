#pragma once

#include <map>
#include <string>

#include <ATen/core/Tensor.h>

#include "test/golden/golden_place.h"
#include "test/support/golden.h"

namespace wam::test {

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

// What a result goes through: values that round one after the other, and the terms of the longest
// sum (which round too in fp32). The largest of thousands of errors is up to four times the typical
// one.
struct Arithmetic {
  double roundings = 1;
  double terms = 1;
  double largest = 2;
};

// How far a result may be from a stored tensor, relative to its largest value: on the CPU the
// limits of test/golden/README.md, on a GPU those that rounding allows.
inline double golden_limit(const GoldenFile& golden,
                           const std::string& stored,
                           const GoldenPlace& place,
                           const Arithmetic& a) {
  if (place.type == at::kDouble) return golden.file().at(stored).dtype == "F64" ? 1e-9 : 2e-7;
  if (place.device.is_cpu()) return 2e-5;
  const double values = a.roundings * (place.type == at::kFloat ? a.terms : 1.0);
  return a.largest * rounding_error(place.type, values);
}

}  // namespace wam::test
