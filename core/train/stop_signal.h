#pragma once

namespace wam {

enum class OnStop {
  kNote,
  kEnd,  // signals end the process at once: it has nothing to save
};

// kNote: turns SIGTERM, SIGINT and SIGUSR1 into a flag that the loop reads between steps. SIGUSR1
// is what Slurm is asked to send some time before a job's limit (--signal=USR1@120), so SIGTERM may
// follow. A second SIGTERM or SIGINT ends the process at once with 128 + its number. One object at
// a time; its destructor restores the default handlers.
class StopSignal {
 public:
  explicit StopSignal(OnStop on_stop = OnStop::kNote);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;
  StopSignal(StopSignal&&) = delete;
  StopSignal& operator=(StopSignal&&) = delete;

  [[nodiscard]] bool requested() const noexcept;
  // "SIGTERM", "SIGINT" or "SIGUSR1", the latest; empty before a request.
  [[nodiscard]] const char* name() const noexcept;

 private:
  OnStop on_stop_;
};

}  // namespace wam
