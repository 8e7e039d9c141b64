#pragma once

namespace wam {

// Turns SIGTERM and SIGINT into a flag that the loop reads between steps; a second signal ends the
// process at once with 128 + its number. One object at a time; its destructor
// restores the default handlers.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;
  StopSignal(StopSignal&&) = delete;
  StopSignal& operator=(StopSignal&&) = delete;

  [[nodiscard]] bool requested() const noexcept;
  // "SIGTERM" or "SIGINT"; empty before a request.
  [[nodiscard]] const char* name() const noexcept;
};

}  // namespace wam
