#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "core/base/errors.h"
#include "core/train/stop_agreement.h"
#include "parallel/launch/launch_env.h"
#include "parallel/watch/progress.h"

namespace c10d {
class Store;
}

namespace wam {

class Exchange;
struct Verdict;

// Another rank ended with an error of its own, which its output has in full.
class RankFailed : public CommError {
 public:
  RankFailed(const std::string& what, std::string error, int exit_code)
      : CommError(what), error_(std::move(error)), exit_code_(exit_code) {}
  // What that rank says.
  [[nodiscard]] const std::string& error() const noexcept { return error_; }
  // Of that rank, and so of this one.
  [[nodiscard]] int exit_code() const noexcept { return exit_code_; }

 private:
  std::string error_;
  int exit_code_;
};

struct WatchOptions {
  std::chrono::milliseconds limit = std::chrono::minutes(10);  // run.timeout_s
  // How many collectives the device has completed, from a counter that it writes into host memory;
  // may be empty. Called from the watch's thread, must not wait for the device.
  std::function<std::uint64_t()> completed;
  // Ends collectives that wait for ever (ncclCommAbort); may be empty. Called once, on a thread
  // that is left behind: it need not return, and it must own what it uses.
  std::function<void()> abort;
  // Writes the message of a process that is about to be ended by force.
  std::function<void(const std::string&)> last_words;
  // From a verdict until the main thread must have left by itself.
  std::chrono::milliseconds grace = std::chrono::seconds(5);
};

// Watches over all ranks, and agrees with them on stops and on ends. Each rank has one, from the
// meeting until it leaves; it costs two threads and two small requests to the store a second.
//
// A verdict is given, with a message that names the rank, its host and where it stood, when a rank
//   - writes no record for min(limit, 15 s): it died, or its host hangs or cannot be reached;
//   - stands still for `limit`, in a collective or not, while no other one moves (they wait for
//     it); not while a rank prepares the run (Phase::kStarting, outside of collectives);
//   - is in another collective than the others, or has issued others before a step;
//   - has reported an error of its own;
//   - is rank 0, and its store is gone.
// Then collectives are aborted on every rank, and the main thread, whose collective fails or whose
// wait ends, leaves with what `explain` throws. If it has not left within `grace`, this process
// writes its last words and ends: with 3, or with the code of the rank whose error it was.
//
// Use, for several ranks (with one there is no watch, and LocalStop instead of `stop`):
//
//   Gathering gathering(env, …);          // parallel/launch/gathering.h
//   Progress progress;
//   Watch watch(env, gathering.store(), progress, signal, {…});
//   // declared before the model, the communicators and all else that may hang when it goes
//   try {
//     …                                   // LoopParts: .stop = watch.stop(), .observer = &progress
//     watch.leave();                      // after the last checkpoint
//     gathering.leave();
//   } catch (const CommError& error) {
//     watch.explain(error.what());
//   } catch (const std::exception& error) {
//     watch.report_error(error.what(), its_exit_code);
//     throw;
//   }
//
// Every collective is named to `progress` (its header says how); work that may take longer than
// `limit` outside of collectives calls its `moved`. A wait for an event of the device
// must be able to end when `abort` has drained the streams.
//
// Threads: all members from the main thread.
class Watch {
 public:
  // All ranks make theirs right after they have met. `store`: the ranks' own; the watch opens a
  // connection of its own. The others outlive the watch.
  // Errors: CommError when the store cannot be reached.
  Watch(const LaunchEnv& env,
        c10d::Store& store,
        const Progress& progress,
        const StopSignal& signal,
        WatchOptions options);
  // After an error: waits a moment until all ranks know.
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  Watch(Watch&&) = delete;
  Watch& operator=(Watch&&) = delete;

  // The ranks' common decision; StopSignals of all ranks are wishes.
  [[nodiscard]] StopAgreement& stop();

  // What really happened, after a collective failed on this rank: another rank may have died. Waits
  // for a verdict, at most a few ticks more than it takes to notice a death. Throws CommError, or
  // RankFailed when it was an error of another rank.
  [[noreturn]] void explain(const std::string& error);

  // Tells the others that this rank ends; they leave with RankFailed. Waits until they know, a few
  // seconds at most. Errors: CommError or RankFailed instead, when there is a verdict already
  // (`text` is what came of it), or when another rank ends with the same text.
  void report_error(const std::string& text, int exit_code);

  // Orderly end; rank 0 returns when all others have called it. Errors: CommError or RankFailed
  // with the verdict.
  void leave();

 private:
  void look_after();
  void end_run(const Verdict& verdict);
  [[nodiscard]] std::string message(const Verdict& verdict) const;
  [[noreturn]] void throw_verdict(const Verdict& verdict) const;
  [[nodiscard]] ProgressState state() const;

  const LaunchEnv env_;
  const Progress& progress_;
  const WatchOptions options_;
  std::chrono::milliseconds tick_;
  std::shared_ptr<Exchange> exchange_;
  std::string own_error_;
  std::atomic<int> own_exit_code_{0};  // 0: no error of its own
  std::thread exchanging_, looking_;
};

}  // namespace wam
