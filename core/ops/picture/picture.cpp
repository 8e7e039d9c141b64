#include "core/ops/picture/picture.h"

#include "core/base/errors.h"

namespace wam {
namespace {

PictureCode* code_of(InstructionSet set) {
  switch (set) {
    case InstructionSet::kScalar:
      return transform_picture_scalar;
#ifdef __x86_64__
    case InstructionSet::kAvx2:
      return transform_picture_avx2;
    case InstructionSet::kAvx512:
      return transform_picture_avx512;
#else
    default:
      break;
#endif
  }
  throw InvariantError("an instruction set without code");
}

}  // namespace

void transform_picture(const PictureJob& job, InstructionSet set) {
  invariant(has_instruction_set(set), "code for another processor");
  std::int64_t contrasts = 0;
  for (std::int64_t i = 0; i < job.steps; ++i) {
    contrasts += job.step[i].op == JitterOp::kContrast ? 1 : 0;
  }
  invariant(job.steps <= kMaxJitterSteps && contrasts <= 1, "a jitter with one contrast at most");
  code_of(set)(job);
}

}  // namespace wam
