#include "core/base/instruction_set.h"

namespace wam {

bool has_instruction_set(InstructionSet set) {
#ifdef __x86_64__
  switch (set) {
    case InstructionSet::kScalar:
      return true;
    case InstructionSet::kAvx2:
      return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
    case InstructionSet::kAvx512:
      return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
             __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  }
  return false;
#else
  return set == InstructionSet::kScalar;
#endif
}

InstructionSet best_instruction_set() {
  for (const InstructionSet set : {InstructionSet::kAvx512, InstructionSet::kAvx2}) {
    if (has_instruction_set(set)) return set;
  }
  return InstructionSet::kScalar;
}

}  // namespace wam
