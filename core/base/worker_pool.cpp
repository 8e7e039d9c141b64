#include "core/base/worker_pool.h"

#include <algorithm>
#include <utility>

namespace wam {

WorkerPool::WorkerPool(unsigned threads) {
  if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
  for (unsigned i = 1; i < threads; ++i) threads_.emplace_back([this] { serve(); });
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  begun_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::for_each_index(std::size_t count, const std::function<void(std::size_t)>& work) {
  const bool shared = count > 1 && !threads_.empty();
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    count_ = count;
    next_ = 0;
    if (shared) {
      busy_ = threads_.size();
      ++round_;
    }
  }
  if (shared) begun_.notify_all();
  take_items();
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [this] { return busy_ == 0; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void WorkerPool::take_items() {
  for (std::size_t i = next_++; i < count_; i = next_++) {
    try {
      (*work_)(i);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      next_ = count_;
    }
  }
}

void WorkerPool::serve() {
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    begun_.wait(lock, [&] { return stops_ || round_ != seen; });
    if (stops_) return;
    seen = round_;
    lock.unlock();
    take_items();
    lock.lock();
    if (--busy_ == 0) finished_.notify_one();
  }
}

}  // namespace wam
