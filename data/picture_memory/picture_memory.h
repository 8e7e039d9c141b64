#pragma once

#include <cstddef>

#include <ATen/core/Tensor.h>

namespace wam {

// Not initialised, uint8, contiguous; for the pictures of a sample or of a batch.
//
// The blocks of pictures that are no longer used are handed out again. From malloc such blocks of
// megabytes, between the small ones of the decoders, leave holes: a loader's memory then grows for
// hours. Fresh pages for every sample cost an eighth of its time.
// Threads: any; a tensor may outlive everything else. Errors: std::bad_alloc.
at::Tensor picture_memory(at::IntArrayRef sizes);

// Bytes that are kept and not in use.
std::size_t idle_picture_memory();

}  // namespace wam
