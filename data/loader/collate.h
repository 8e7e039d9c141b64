#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/train/batch.h"
#include "core/train/dataset.h"

namespace wam {

enum class HostMemory { kPageable, kPinned };
// kRaw: someone else transforms the pictures (Batch::raw).
enum class BatchPictures { kTransformed, kRaw };

// Puts samples of one shape side by side while others are still being decoded.
// Pinned memory exists in GPU builds only (InvariantError elsewhere).
// Threads: `put` from several threads, with different positions.
class BatchAssembler {
 public:
  BatchAssembler(std::size_t size, HostMemory memory, BatchPictures pictures);
  // Transforms the pictures, straight into the batch, unless they are encoded already.
  // Errors: InvariantError when the sample's shape is not that of the others.
  void put(std::size_t position, const Sample& sample);
  // Once every position was put: adds the text. A batch without samples has undefined tensors.
  // Errors: those of `text`.
  [[nodiscard]] Batch finish(const TextEmbeddings& text);

 private:
  void allocate(const Sample& sample);
  void put_encoded(std::size_t position, const EncodedPictures& one);
  void put_raw(std::size_t position, const RawClip& clip);

  HostMemory memory_;
  BatchPictures pictures_;
  std::mutex mutex_;  // for allocate
  Batch batch_;
  std::vector<std::vector<BadSample>> replaced_;  // by position
};

// With transformed pictures.
Batch collate(const std::vector<Sample>& samples,
              const TextEmbeddings& text,
              HostMemory memory = HostMemory::kPageable);

}  // namespace wam
