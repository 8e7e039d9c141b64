#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <string>

#include "core/base/log.h"
#include "core/train/dataset.h"
#include "core/train/metrics.h"
#include "core/train/model.h"
#include "core/train/optimizer.h"
#include "core/train/phase.h"
#include "core/train/recent_steps.h"
#include "core/train/schedule.h"
#include "core/train/step_clock.h"
#include "core/train/stop_agreement.h"
#include "core/train/validation.h"

namespace wam {

struct LoopOptions {
  std::int64_t steps = 1;
  std::int64_t global_batch = 1;
  std::int64_t log_every = 1;
  std::int64_t checkpoint_every = 0;  // 0: only at the end
  bool checkpoint_at_end = true;
  // A save that falls due while a rank still writes the last one is left out, not waited for. The
  // run's last one never is.
  bool skips_when_busy = false;
  bool resumed = false;              // first_step has a checkpoint already
  std::int64_t validate_every = 0;   // 0: never
  std::int64_t max_nonfinite = 5;    // skipped updates in a row before the run stops
  std::int64_t max_bad_samples = 0;  // windows of the whole run; one more stops it
  // Read a step's numbers while the device works on the next one, so that it never waits for the
  // host. What is written is the same, a step later.
  bool reads_late = false;
  std::uint64_t seed = 0;
  std::filesystem::path run_folder;  // of validations; empty: another rank writes them
  Schedule schedule;
  WaitAdvice advice;
};

// What the loop works with; all of it outlives the loop.
struct LoopParts {
  Model& model;
  Sharding& sharding;
  AdamW& optimizer;
  BatchSource& source;
  MetricsFile* metrics;  // null: another rank writes them
  Log& log;
  StopAgreement& stop;
  StepClock& clock;            // of the sharding's device
  PhaseObserver* observer;     // may be null
  const Validator* validator;  // may be null
  // Windows of the run that were replaced so far, the same on every rank; null: the source replaces
  // none.
  std::set<std::string>* bad_windows;
  std::function<void(std::int64_t step)> save;  // starts a checkpoint after `step` steps
  // This rank still writes the last checkpoint.
  std::function<bool()> saving = [] { return false; };
  // Called when the state is about to change, which a checkpoint may still be copying.
  std::function<void()> before_update = [] {};
};

enum class LoopEnd { kFinished, kStopped };

// Runs steps [first_step, options.steps): micro-steps, update, metrics, validation, checkpoints. A
// stop that was agreed ends it after the step in hand, with a checkpoint.
//
// The host reads the device once a step, and is never more than one step ahead of what it has read.
// Before a validation, a checkpoint and the end it reads what is left.
// Errors: DataError from the source, or when more windows than max_bad_samples were replaced; Error
// after max_nonfinite skipped updates in a row, when one more step may have been submitted.
LoopEnd run_loop(const LoopParts& parts, const LoopOptions& options, std::int64_t first_step);

}  // namespace wam
