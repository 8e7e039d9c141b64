#include "core/ops/picture/picture.h"

#include "core/base/errors.h"

namespace wam {
namespace {

#ifdef __x86_64__
constexpr CodeForms<PictureCode> kForms{transform_picture_scalar, transform_picture_avx2,
                                        transform_picture_avx512};
#else
constexpr CodeForms<PictureCode> kForms{transform_picture_scalar};
#endif

}  // namespace

void transform_picture(const PictureJob& job, InstructionSet set) {
  std::int64_t contrasts = 0;
  for (std::int64_t i = 0; i < job.steps; ++i) {
    contrasts += job.step[i].op == JitterOp::kContrast ? 1 : 0;
  }
  invariant(job.steps <= kMaxJitterSteps && contrasts <= 1, "a jitter with one contrast at most");
  kForms.of(set)(job);
}

}  // namespace wam
