#pragma once

#include <cstdint>
#include <filesystem>
#include <list>
#include <mutex>
#include <optional>
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

// While it lives, readings of this thread write into the note, where the last one stays. One at a
// time on a thread.
class NotedReads {
 public:
  explicit NotedReads(ReadingNote& note) noexcept;
  ~NotedReads();
  NotedReads(const NotedReads&) = delete;
  NotedReads& operator=(const NotedReads&) = delete;
  NotedReads(NotedReads&&) = delete;
  NotedReads& operator=(NotedReads&&) = delete;
};

// A reading in hand, of a thread without a note.
struct ReadInHand {
  std::uint64_t number = 0;  // counts all of the process
  std::string file;
};

// Readers hold one while they open a file or go on in it.
class Reading {
 public:
  explicit Reading(const std::filesystem::path& file);
  ~Reading();
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;
  Reading(Reading&&) = delete;
  Reading& operator=(Reading&&) = delete;

 private:
  std::optional<std::list<ReadInHand>::iterator> place_;  // among those of the process
};

// The one that began first, of those that threads without a note have in hand.
std::optional<ReadInHand> longest_read();

}  // namespace wam
