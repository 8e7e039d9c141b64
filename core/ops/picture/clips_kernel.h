#pragma once

#include <cstdint>

#include "core/cuda/kernel.h"
#include "core/ops/picture/picture_job.h"

namespace wam {

// The pictures of a view that go to one place: `picture` is the first, with pointers into the
// device's memory and without scratch; the others follow in steps of so many bytes.
struct ClipJob {
  PictureJob picture;
  std::int64_t from_step = 0;
  std::int64_t to_step = 0;
};

struct ClipsTask {
  const ClipJob* jobs = nullptr;  // on the device
  std::int64_t num_jobs = 0;      // at most 65,535, as frames
  std::int64_t frames = 0;
  std::int64_t max_rows = 0;  // of an output
  float* luma = nullptr;      // (jobs, frames, max_rows, kPictureColumns)
  float* mean = nullptr;      // (jobs, frames)
};

// transform_picture of every picture, operation by operation, sums in the same order: bytes are
// those of the host.
// Stream: ordered on `stream`, does not wait. Errors: DeviceError when a launch is refused.
void transform_clips_launch(const ClipsTask& task, KernelStream stream);

}  // namespace wam
