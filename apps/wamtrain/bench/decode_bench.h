#pragma once

#include "apps/wamtrain/bench/context.h"
#include "apps/wamtrain/bench/result.h"
#include "data/dataset/window_dataset.h"

namespace wam {

// Adds what a window's frames take to decode on one thread, with the files open, and FFmpeg's own
// time from the keyframe before the first of them to the last. Nothing for pictures in tables.
void add_decoding(const BenchContext& context, const WindowDataset& data, BenchResult& out);

}  // namespace wam
