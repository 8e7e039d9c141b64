#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace wam {

// Threads that wait for work, for loops that come too often to start threads for each.
//
// Threads:  one caller at a time.
// Shutdown: the destructor joins the threads, which are idle then.
class WorkerPool {
 public:
  // `threads` in all, the caller's one of them; 0: one per core.
  explicit WorkerPool(unsigned threads);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  WorkerPool(WorkerPool&&) = delete;
  WorkerPool& operator=(WorkerPool&&) = delete;

  // work(i) for every i in [0, count), in no fixed order. Returns when all are done; throws the
  // first error that happened, after which no further item is started.
  void for_each_index(std::size_t count, const std::function<void(std::size_t)>& work);

 private:
  void take_items();
  void serve();

  std::mutex mutex_;
  std::condition_variable begun_, finished_;
  std::uint64_t round_ = 0;  // counts the calls
  std::size_t busy_ = 0;     // threads that have not finished this round
  bool stops_ = false;
  std::exception_ptr error_;
  // Of this round; written before it begins.
  const std::function<void(std::size_t)>* work_ = nullptr;
  std::size_t count_ = 0;
  std::atomic<std::size_t> next_ = 0;
  std::vector<std::thread> threads_;  // last: they use all of the above
};

}  // namespace wam
