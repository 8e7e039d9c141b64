#pragma once

#include <chrono>
#include <mutex>

#include "core/train/checkpoint_verify.h"

namespace wam {

// On a terminal: one line that says how much of a checkpoint has been hashed, a few times a second;
// it goes with the object. Nothing elsewhere.
class HashProgressLine {
 public:
  HashProgressLine();
  ~HashProgressLine();
  HashProgressLine(const HashProgressLine&) = delete;
  HashProgressLine& operator=(const HashProgressLine&) = delete;
  HashProgressLine(HashProgressLine&&) = delete;
  HashProgressLine& operator=(HashProgressLine&&) = delete;

  // Shows the line; used while this object lives.
  [[nodiscard]] HashProgress show();

 private:
  bool is_terminal_;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point shown_;
};

}  // namespace wam
