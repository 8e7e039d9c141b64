#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace wam {

// One start of a run, as the next one finds it.
struct Attempt {
  std::string started;  // "2026-01-31 12:00:00 UTC"
  std::string host;
  std::optional<std::int64_t> reached;  // the last step that it finished
  std::string end;  // the error that ended it; empty: unknown, as when it was killed
};

// RUN/attempts.json: the starts of a run from one step, with one recipe, none of which came to an
// end of its own or to a checkpoint. Ends the loop of a job that a script restarts and that crashes
// at the same place every time.
//
// Threads: one process a run folder, one thread.
class AttemptRecord {
 public:
  // To be made before this start writes to the run's log, whose last lines are those of the start
  // before. A record that cannot be read counts as none.
  explicit AttemptRecord(const std::filesystem::path& run_folder);

  // Notes a start from `step`; returns how many starts before it crashed there. Progress since the
  // last one, or another recipe, begins a new record. Errors: Error with a summary when
  // `max_crashes` of them did (0: no limit), and nothing is noted; DeviceError when the record
  // cannot be written.
  std::size_t begin(std::int64_t step, const std::string& recipe_hash, std::int64_t max_crashes);
  // The start that was begun, if any, ended by an error. Never throws: there is an error to report.
  void note_error(const std::string& what) noexcept;
  // It came to an end of its own: there is nothing to remember.
  void clear() const;

 private:
  void read();
  void write() const;
  [[nodiscard]] std::string summary() const;

  std::filesystem::path folder_;
  std::vector<std::string> log_tail_;
  std::int64_t step_ = -1;
  std::string recipe_hash_;
  std::vector<Attempt> attempts_;
  bool begun_ = false;
};

}  // namespace wam
