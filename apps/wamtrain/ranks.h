#pragma once

#include <chrono>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include <c10/core/Device.h>

#include "core/base/errors.h"
#include "core/cuda/graph.h"
#include "core/train/phase.h"
#include "core/train/rank_agreement.h"
#include "core/train/stop_agreement.h"
#include "core/train/stop_signal.h"
#include "parallel/collectives/axis.h"
#include "parallel/launch/launch_env.h"
#include "parallel/strategies/layout.h"

namespace wam {

// The processes of this start, from their meeting until they have left: which one this is, what the
// first does for all, what they communicate over, and who watches over them. With one process all
// of it is local.
class Ranks {
 public:
  // Reads the launcher's environment and meets the others (`run_dir` is where they look for each
  // other without MASTER_ADDR). `limit`: run.timeout_s. Errors: ConfigError, CommError.
  Ranks(const std::filesystem::path& run_dir,
        std::chrono::milliseconds limit,
        OnStop on_stop = OnStop::kNote);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  Ranks(Ranks&&) = delete;
  Ranks& operator=(Ranks&&) = delete;

  [[nodiscard]] const LaunchEnv& env() const noexcept { return env_; }
  [[nodiscard]] bool is_first() const noexcept { return env_.global_rank == 0; }

  // On every rank what `make` returned on the first, which alone runs it; the others wait as long
  // as it takes. Errors: what it threw on the first, AlreadyTold on the others.
  std::string from_first(const std::function<std::string()>& make);
  // The same without a result.
  void first_does(const std::function<void()>& work);

  // Whether this rank alone was asked to stop (core/train/stop_signal.h): for work in which ranks
  // need not stop at the same place.
  [[nodiscard]] bool stop_requested() const noexcept { return signal_.requested(); }
  // Until every rank has come here, however long that takes. Errors: none; where a rank dies the
  // watch ends this one.
  void wait_for_all();

  // Connects the groups of the layout. `device` of this rank. Errors: DeviceError where two ranks
  // have one GPU.
  MeshAxes connect(const Layout& layout, c10::Device device);
  // For CheckpointWriter; empty with one rank.
  [[nodiscard]] ExchangeTexts exchange() const;
  // The writer of a checkpoint goes on, however long it takes. Any thread.
  void writer_moved() noexcept;
  [[nodiscard]] StopAgreement& stop();
  [[nodiscard]] PhaseObserver* observer();
  // The work of a long phase goes on (PhaseObserver::moved). Any thread.
  void moved() noexcept;
  // Tells the watch what graphs replay; null with one rank.
  [[nodiscard]] GraphObserver* graph_observer();

  // Runs the whole work of this rank. An error of it reaches the others; where it came from another
  // rank, it says from which. Orderly ends leave in order. Errors: those of `work`, explained;
  // `note_error` is told each before it is thrown, for the files that remember it; or, on another
  // thread, the last words of a process that has to be ended by force.
  int run(const std::function<int()>& work,
          const std::function<void(const std::string&)>& note_error = {});
  // Within `run`, from another thread than the main one, which is held back for ever: prints the
  // error, notes it, tells the others, and ends this process.
  [[noreturn]] void end_now(const Error& error);

 private:
  struct Several;
  void check_own_gpu(c10::Device device) const;
  int run_together(const std::function<int()>& work);
  // Tells the others of an error of this rank's, and prints it unless another one has the same.
  // Errors: AlreadyTold; RankFailed or CommError where the run has ended already.
  [[noreturn]] void tell(const std::exception& error);
  void note(const std::string& error);

  std::mutex note_mutex_;
  std::function<void(const std::string&)> note_;  // of `run`
  StopSignal signal_;  // from the first second until the last checkpoint is on the disk
  LaunchEnv env_;
  LocalStop local_stop_{signal_};
  std::unique_ptr<Several> several_;  // none with one rank
  int times_asked_ = 0;
  int times_met_ = 0;
};

}  // namespace wam
