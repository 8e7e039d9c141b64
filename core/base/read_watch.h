#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace wam {

struct ReadWatchOptions {
  std::chrono::milliseconds limit{};
  // A reading takes an eighth of the limit: which, and how long so far. May be empty.
  std::function<void(const std::string& line)> on_slow = {};
  // A reading takes longer than the limit. A thread that is held back in a read cannot be told, so
  // this must end the process.
  std::function<void(const std::string& error)> on_stall = {};
};

// Watches over what the process reads (core/base/now_reading.h) outside of threads that have a note
// of their own, whose owners watch over them: opening a dataset, statistics, validation's windows.
// A process that was stopped meanwhile has not waited.
//
// Threads: on_slow and on_stall are called from the watch's own. Shutdown: the destructor ends it.
class ReadWatch {
 public:
  explicit ReadWatch(ReadWatchOptions options);
  ~ReadWatch();
  ReadWatch(const ReadWatch&) = delete;
  ReadWatch& operator=(const ReadWatch&) = delete;
  ReadWatch(ReadWatch&&) = delete;
  ReadWatch& operator=(ReadWatch&&) = delete;

 private:
  void watch();

  ReadWatchOptions options_;
  std::mutex mutex_;
  std::condition_variable ends_;
  bool has_ended_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace wam
