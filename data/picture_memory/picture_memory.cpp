#include "data/picture_memory/picture_memory.h"

#include <algorithm>
#include <iterator>
#include <list>
#include <mutex>
#include <new>

#include <ATen/ops/from_blob.h>
#include <c10/util/accumulate.h>

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

namespace wam {
namespace {

constexpr std::size_t kGranule = std::size_t{64} << 10U;
// Of a block that is handed out, what may be too much: one part of so many.
constexpr std::size_t kSlackShare = 8;
// Beyond this what is idle for longest goes to the system: the sizes in use have changed.
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
  std::list<Block> idle_;  // given back last first
  std::size_t idle_bytes_ = 0;
};

void unmap(const Block& block) {
  ASAN_UNPOISON_MEMORY_REGION(block.data, block.bytes);
  munmap(block.data, block.bytes);
}

Block Blocks::take(std::size_t bytes) {
  const std::size_t size = (bytes + kGranule - 1) / kGranule * kGranule;
  {
    const std::lock_guard lock(mutex_);
    const auto fits = [&](const Block& block) {
      return block.bytes >= size && block.bytes <= size + size / kSlackShare;
    };
    const auto found = std::find_if(idle_.begin(), idle_.end(), fits);
    if (found != idle_.end()) {
      const Block block = *found;
      idle_.erase(found);
      idle_bytes_ -= block.bytes;
      return block;
    }
  }
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) throw std::bad_alloc();
  return {data, size};
}

void Blocks::give_back(Block block) {
  std::list<Block> surplus;
  {
    const std::lock_guard lock(mutex_);
    idle_.push_front(block);
    idle_bytes_ += block.bytes;
    while (idle_bytes_ > kMostIdle) {
      idle_bytes_ -= idle_.back().bytes;
      surplus.splice(surplus.begin(), idle_, std::prev(idle_.end()));
    }
  }
  std::for_each(surplus.begin(), surplus.end(), unmap);
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
