#pragma once

#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace wam {

// Lines for people: to the terminal (rank 0 only) and to a file. Passed in, never global.
//
// On a terminal, `progress` rewrites one line in place and `info` prints above it; elsewhere both
// print whole lines.
// Threads: all members may be called from any thread.
class Log {
 public:
  struct Options {
    bool console = true;
    std::string file;  // empty: no file
  };
  explicit Log(const Options& options);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  Log(Log&&) = delete;
  Log& operator=(Log&&) = delete;

  void info(std::string_view line);
  void warn(std::string_view line);
  // To the file alone: what the console shows in another way.
  void record(std::string_view line);
  // Replaces the last progress line on a terminal; a plain line elsewhere.
  void progress(std::string_view line);
  // Leaves the progress line standing and moves on to a fresh one.
  void end_progress();
  [[nodiscard]] bool is_terminal() const noexcept { return terminal_; }

 private:
  void line(std::string_view prefix, std::string_view text);

  bool console_;
  bool terminal_;
  std::string shown_progress_;
  std::FILE* file_ = nullptr;
  std::mutex mutex_;
};

}  // namespace wam
