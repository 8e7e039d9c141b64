#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace wam {

// work(i) for every i in [0, count), on up to `threads` threads (0: one per core), the caller's one
// of them; in no fixed order. Returns when all are done; throws the first error that happened,
// after which no further item is started.
template <class Work>
void for_each_index(std::size_t count, unsigned threads, const Work& work) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr error;
  std::mutex mutex;
  const auto run = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
        next = count;
      }
    }
  };
  if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::thread> workers;
  for (std::size_t i = 1; i < std::min<std::size_t>(threads, count); ++i) workers.emplace_back(run);
  run();
  for (std::thread& worker : workers) worker.join();
  if (error) std::rethrow_exception(error);
}

// work(begin, length) for pieces of at most `piece` values that together cover [0, count); threads
// and errors as above. (at::parallel_for is serial in sources that are not built with OpenMP.)
template <class Work>
void for_each_piece(std::int64_t count, std::int64_t piece, unsigned threads, const Work& work) {
  const auto pieces = static_cast<std::size_t>((count + piece - 1) / piece);
  for_each_index(pieces, threads, [&](std::size_t i) {
    const std::int64_t begin = static_cast<std::int64_t>(i) * piece;
    work(begin, std::min(piece, count - begin));
  });
}

}  // namespace wam
