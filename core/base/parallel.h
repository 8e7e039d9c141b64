#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "core/base/worker_pool.h"

namespace wam {

// A pool of up to `threads` threads (0: one per core), the caller's one of them; no more than
// items.
inline WorkerPool pool_for(std::size_t items, unsigned threads) {
  if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
  return WorkerPool(
      static_cast<unsigned>(std::clamp<std::size_t>(items, 1, static_cast<std::size_t>(threads))));
}

// work(i) for every i in [0, count), on up to `threads` threads; order and errors as WorkerPool has
// them.
template <class Work>
void for_each_index(std::size_t count, unsigned threads, const Work& work) {
  pool_for(count, threads).for_each_index(count, work);
}

// work(begin, length) for pieces of at most `piece` values that together cover [0, count), by the
// threads of the pool. (at::parallel_for is serial in sources that are not built with OpenMP.)
template <class Work>
void for_each_piece(std::int64_t count, std::int64_t piece, WorkerPool& pool, const Work& work) {
  pool.for_each_index(static_cast<std::size_t>((count + piece - 1) / piece), [&](std::size_t i) {
    const std::int64_t begin = static_cast<std::int64_t>(i) * piece;
    work(begin, std::min(piece, count - begin));
  });
}

// The same on up to `threads` threads.
template <class Work>
void for_each_piece(std::int64_t count, std::int64_t piece, unsigned threads, const Work& work) {
  WorkerPool pool = pool_for(static_cast<std::size_t>((count + piece - 1) / piece), threads);
  for_each_piece(count, piece, pool, work);
}

}  // namespace wam
