#pragma once

#include "core/base/instruction_set.h"
#include "core/ops/picture/picture_job.h"

namespace wam {

// A crop of an 8-bit RGB picture, resized (columns, then rows), colours jittered, cut to 8 bits.
//
// Levels k become k / 255, rounded. The resize's sums are fused from the second tap on, as
// PyTorch's are: with rounded products, flat areas would fall below their level and lose a whole
// one in the end. Steps of the jitter, each on p in [0, 1], clamped to [0, 1] after each:
//   brightness  factor p
//   contrast    factor p + rest mean, mean of the picture's luma as it then is
//   saturation  factor p + rest luma(p)
//   hue         turned by `factor`: picture_pixel.h
// with luma = 0.2989 R + 0.587 G + 0.114 B. At most one step is contrast. Result: 255 p, cut, not
// rounded; every pixel repeat_columns times in repeat_rows rows. All in float32 but the mean.
//
// Bytes are the same on every instruction set. Threads: any, each with its own scratch.
void transform_picture(const PictureJob& job, InstructionSet set = best_instruction_set());

}  // namespace wam
