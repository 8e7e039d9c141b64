#include "core/ops/picture/picture_loop.h"
#include "core/ops/picture/picture_vector_scalar.h"

namespace wam {

void transform_picture_scalar(const PictureJob& job) {
  PictureLoop<Scalar>(job).run();
}

}  // namespace wam
