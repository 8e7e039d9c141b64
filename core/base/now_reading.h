#pragma once

#include <filesystem>
#include <mutex>
#include <string>

namespace wam {

// The file that a thread reads, for another one that watches over it: a file system that does not
// answer can only be named from outside. Threads: any.
class ReadingNote {
 public:
  void set(std::string file);
  // Empty: none so far.
  [[nodiscard]] std::string file() const;

 private:
  mutable std::mutex mutex_;
  std::string file_;
};

// While it lives, now_reading on this thread writes into the note. One at a time on a thread.
class NotedReads {
 public:
  explicit NotedReads(ReadingNote& note) noexcept;
  ~NotedReads();
  NotedReads(const NotedReads&) = delete;
  NotedReads& operator=(const NotedReads&) = delete;
  NotedReads(NotedReads&&) = delete;
  NotedReads& operator=(NotedReads&&) = delete;
};

// Readers say so before they open a file or go on in it. Does nothing where nobody watches.
void now_reading(const std::filesystem::path& file);

}  // namespace wam
