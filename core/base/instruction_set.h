#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "core/base/errors.h"
#include "core/base/names.h"

namespace wam {

// The vector instructions that a loop of the host can be compiled for. Such a loop computes the
// same bits on each: fixed order, products and sums fused only where the source says so.
//
// kAvx2: AVX2 and FMA. kAvx512: AVX-512 F, BW, DQ and VL, which every server processor with any of
// AVX-512 has since 2017.
enum class InstructionSet { kScalar, kAvx2, kAvx512 };
template <>
struct EnumNames<InstructionSet> {
  static constexpr std::array<std::pair<InstructionSet, std::string_view>, 3> table{
      {{InstructionSet::kScalar, "scalar"},
       {InstructionSet::kAvx2, "AVX2"},
       {InstructionSet::kAvx512, "AVX-512"}}};
};

// Whether this build and this processor have it. kScalar: always.
bool has_instruction_set(InstructionSet set);
// The widest one there is.
InstructionSet best_instruction_set();

// A function compiled for each; null where the build has no such form.
template <class Code>
struct CodeForms {
  Code* scalar = nullptr;
  Code* avx2 = nullptr;
  Code* avx512 = nullptr;

  // Errors: InvariantError where this processor does not have the set.
  [[nodiscard]] Code* of(InstructionSet set) const {
    invariant(has_instruction_set(set), "code for another processor");
    return set == InstructionSet::kAvx512 ? avx512 : set == InstructionSet::kAvx2 ? avx2 : scalar;
  }
};

}  // namespace wam
