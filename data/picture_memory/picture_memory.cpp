#include "data/picture_memory/picture_memory.h"

#include <map>
#include <mutex>

#include <ATen/ops/from_blob.h>
#include <c10/util/Exception.h>
#include <c10/util/accumulate.h>

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include "core/base/format.h"

namespace wam {
namespace {

constexpr std::size_t kGranule = std::size_t{64} << 10U;
// Of a block that is handed out, what may be too much: one part of so many.
constexpr std::size_t kSlackShare = 8;
// What is given back beyond this goes to the system: the sizes in use have changed.
constexpr std::size_t kMostIdle = std::size_t{1} << 30U;

struct Block {
  void* data = nullptr;
  std::size_t bytes = 0;
};

class Blocks {
 public:
  Block take(std::size_t bytes);
  void give_back(Block block);
  std::size_t idle() {
    const std::lock_guard lock(mutex_);
    return idle_bytes_;
  }

 private:
  std::mutex mutex_;
  std::multimap<std::size_t, void*> idle_;  // by size
  std::size_t idle_bytes_ = 0;
};

Block Blocks::take(std::size_t bytes) {
  const std::size_t size = (bytes + kGranule - 1) / kGranule * kGranule;
  {
    const std::lock_guard lock(mutex_);
    const auto found = idle_.lower_bound(size);
    if (found != idle_.end() && found->first <= size + size / kSlackShare) {
      const Block block{found->second, found->first};
      idle_.erase(found);
      idle_bytes_ -= block.bytes;
      return block;
    }
  }
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  TORCH_CHECK_WITH(OutOfMemoryError, data != MAP_FAILED,
                   "no memory for pictures: ", human_bytes(static_cast<double>(size)),
                   " asked for");
  return {data, size};
}

void Blocks::give_back(Block block) {
  {
    const std::lock_guard lock(mutex_);
    if (idle_bytes_ + block.bytes <= kMostIdle) {
      idle_.emplace(block.bytes, block.data);
      idle_bytes_ += block.bytes;
      return;
    }
  }
  munmap(block.data, block.bytes);
}

// Never destroyed: tensors may be freed after the statics.
Blocks& blocks() {
  static auto& all = *new Blocks;
  return all;
}

}  // namespace

at::Tensor picture_memory(at::IntArrayRef sizes) {
  const auto bytes = static_cast<std::size_t>(c10::multiply_integers(sizes));
  if (bytes == 0) return at::from_blob(nullptr, sizes, at::kByte);
  const Block block = blocks().take(bytes);
  ASAN_UNPOISON_MEMORY_REGION(block.data, bytes);
  return at::from_blob(
      block.data, sizes,
      [block](void*) {
        ASAN_POISON_MEMORY_REGION(block.data, block.bytes);
        blocks().give_back(block);
      },
      at::TensorOptions(at::kByte));
}

std::size_t idle_picture_memory() {
  return blocks().idle();
}

}  // namespace wam
