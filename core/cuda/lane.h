#pragma once

#include <optional>

#include <c10/core/Device.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>
#include <c10/core/StreamGuard.h>

namespace wam {

// A point in a queue of device work. On the CPU, where everything has happened when a call returns,
// a mark says nothing.
class Mark {
 public:
  // After all that the current stream of the device was told so far. Set anew, it forgets the
  // point before.
  void set(c10::Device device);
  void forget() { event_.reset(); }
  // The current stream goes on when the point has been reached; at once where none was set.
  void wait(c10::Device device) const;
  // The host goes on then.
  void synchronize() const;

 private:
  std::optional<c10::Event> event_;
};

// A second queue of device work beside the current stream, for copies and collectives that run
// while it computes. On the CPU there is none, and its work happens at once.
//
// Works while a graph is recorded: what the lane was told belongs to the graph if the lane was
// joined to the recording stream (after_current) and joins it again (a mark in the lane, waited
// for) before the recording ends. What is enqueued in a lane allocates nothing: a graph's memory is
// that of its own stream.
//
// Threads: one at a time.
class Lane {
 public:
  // A stream of high priority from LibTorch's pool.
  explicit Lane(c10::Device device);

  [[nodiscard]] c10::Device device() const noexcept { return device_; }

  // What the lane is told from now on starts after all that the current stream was told so far.
  void after_current();

  // While it lives, the lane is this thread's current stream.
  class Scope {
   public:
    explicit Scope(const Lane& lane);

   private:
    std::optional<c10::StreamGuard> guard_;
  };

 private:
  c10::Device device_;
  std::optional<c10::Stream> stream_;  // none on the CPU
  Mark current_;
};

}  // namespace wam
