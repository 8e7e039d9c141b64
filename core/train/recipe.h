#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/names.h"
#include "core/recipe/field.h"
#include "core/recipe/problems.h"
#include "core/train/schedule.h"

// The sections of a recipe that the training loop understands. A resolve() adds every contradiction
// inside its section to `problems`; what it returns is to be used only when there are none.

namespace wam {

enum class DeviceChoice { kAuto, kCpu, kCuda };
template <>
struct EnumNames<DeviceChoice> {
  static constexpr std::array table{std::pair{DeviceChoice::kAuto, std::string_view("auto")},
                                    std::pair{DeviceChoice::kCpu, std::string_view("cpu")},
                                    std::pair{DeviceChoice::kCuda, std::string_view("cuda")}};
};

enum class GraphChoice { kAuto, kOn, kOff };
template <>
struct EnumNames<GraphChoice> {
  static constexpr std::array table{std::pair{GraphChoice::kAuto, std::string_view("auto")},
                                    std::pair{GraphChoice::kOn, std::string_view("on")},
                                    std::pair{GraphChoice::kOff, std::string_view("off")}};
};

enum class PinChoice { kAuto, kOff };
template <>
struct EnumNames<PinChoice> {
  static constexpr std::array table{std::pair{PinChoice::kAuto, std::string_view("auto")},
                                    std::pair{PinChoice::kOff, std::string_view("off")}};
};

enum class ComputeType { kBf16, kFp32, kFp64 };
template <>
struct EnumNames<ComputeType> {
  static constexpr std::array table{std::pair{ComputeType::kBf16, std::string_view("bf16")},
                                    std::pair{ComputeType::kFp32, std::string_view("fp32")},
                                    std::pair{ComputeType::kFp64, std::string_view("fp64")}};
};
template <>
struct PlannedNames<ComputeType> {
  static constexpr std::array<std::string_view, 1> table{"fp8"};
};

enum class MasterType { kFp32 };
template <>
struct EnumNames<MasterType> {
  static constexpr std::array table{std::pair{MasterType::kFp32, std::string_view("fp32")}};
};
template <>
struct PlannedNames<MasterType> {
  static constexpr std::array<std::string_view, 1> table{"bf16"};
};

enum class WhenBusy { kWait, kSkip };
template <>
struct EnumNames<WhenBusy> {
  static constexpr std::array table{std::pair{WhenBusy::kWait, std::string_view("wait")},
                                    std::pair{WhenBusy::kSkip, std::string_view("skip")}};
};

struct RunSection {
  std::filesystem::path dir;
  std::uint64_t seed = 42;
  DeviceChoice device = DeviceChoice::kAuto;
  GraphChoice graphs = GraphChoice::kAuto;
  std::optional<std::int64_t> threads;
  PinChoice pin = PinChoice::kAuto;
  std::int64_t max_crashes = 3;
  double timeout_s = 600;

  template <class V>
  void fields(V&& v) {
    v("dir", dir,
      "Folder of the run: checkpoints, metrics.jsonl, log, statistics, report. Made when absent.");
    v("seed", seed,
      "Every random choice of the run is a function of this number. Another seed is another run.");
    v("device", device,
      "Where to train. auto: a GPU when the program was built for one and one is there, else the "
      "CPU.");
    v("graphs", graphs,
      "CUDA graphs: a micro-step and an update are each recorded once for a shape and replayed, "
      "which gives the same bits without the time of thousands of launches. auto: on where the "
      "run is on a GPU.");
    v("threads", threads,
      "CPU threads of the model's arithmetic on each rank. auto: one for each core that the "
      "process "
      "may use, which the ranks of a host share. "
      "On the CPU, runs with another number are not equal bit for bit.",
      at_least(1));
    v("pin", pin,
      "auto: where the ranks of a host may all use all of its cores, each keeps to an equal part "
      "of "
      "them, near its GPU; what a launcher has divided stays as it is. off: the kernel places "
      "them.");
    v("timeout_s", timeout_s,
      "With several ranks: how long one may stand still, in a collective or anywhere else, before "
      "the run ends with a message that names it (seconds). A rank that dies is noticed within 15. "
      "Always: a file of a dataset that is being read for three quarters of it ends the run.",
      above(0));
    v("max_crashes", max_crashes,
      "For runs that a script restarts: after so many starts in a row from the same step that "
      "ended "
      "in an error or were killed before the next checkpoint, `train` says what is known of them "
      "and leaves with exit code 1 (number). A changed recipe starts anew. 0: no limit.",
      at_least(0));
  }
};

struct TrainSection {
  std::int64_t steps = 2000;
  std::int64_t global_batch = 8;
  std::int64_t micro_batch = 1;
  double learning_rate = 1e-5;
  std::array<double, 2> betas{0.95, 0.999};
  double epsilon = 1e-8;
  double weight_decay = 1e-5;
  double warmup = 0.05;
  ScheduleKind schedule = ScheduleKind::kCosine;
  double clip_norm = 1.0;
  std::int64_t max_nonfinite = 5;

  template <class V>
  void fields(V&& v) {
    v("steps", steps,
      "Optimizer steps of the whole run, those before a resume included (steps). 0 writes the "
      "first checkpoint and ends.",
      at_least(0));
    v("global_batch", global_batch, "Samples of one optimizer step, over all ranks (samples).",
      at_least(1));
    v("micro_batch", micro_batch,
      "Samples that go through the model at once on one rank (samples). It need not divide the "
      "global batch; the result is the same, only speed and memory differ.",
      at_least(1));
    v("learning_rate", learning_rate, "Peak learning rate, after the warm-up (per step).",
      at_least(0));
    v("betas", betas, "AdamW's decay rates of the first and second moment (per step).",
      at_least_below(0, 1));
    v("epsilon", epsilon, "AdamW's term that keeps the denominator off zero (no unit).", above(0));
    v("weight_decay", weight_decay,
      "AdamW's decoupled weight decay (per step, times the learning rate). Biases and affine layer "
      "norms are not decayed.",
      at_least(0));
    v("warmup", warmup,
      "Linear warm-up from 0: a number of steps or, below 1, a share of train.steps (rounded up).",
      at_least(0));
    v("schedule", schedule,
      "After the warm-up: half a cosine down to 0 at train.steps, or constant.");
    v("clip_norm", clip_norm,
      "Gradients are scaled down to this global L2 norm (no unit). 0: no clipping.", at_least(0));
    v("max_nonfinite", max_nonfinite,
      "Updates with a gradient that is not finite are skipped; the run stops after so many in a "
      "row "
      "(steps).",
      at_least(1));
  }
};

struct PrecisionSection {
  ComputeType compute = ComputeType::kBf16;
  MasterType master = MasterType::kFp32;
  bool deterministic = true;

  template <class V>
  void fields(V&& v) {
    v("compute", compute,
      "Type of weights and activations in forward and backward. fp32 on a GPU is for checking: "
      "plain attention, no TF32. fp64, on a CPU only, is for checking too; masters and moments are "
      "fp64 then.");
    v("master", master, "Type of the master weights and of AdamW's moments.");
    v("deterministic", deterministic,
      "true: the same recipe gives the same bits. false: library algorithms whose sums depend on "
      "timing are allowed.");
  }
};

struct CheckpointSection {
  std::int64_t every = 500;
  std::int64_t keep = 3;
  bool at_end = true;
  WhenBusy when_busy = WhenBusy::kWait;
  std::string resume = "auto";

  template <class V>
  void fields(V&& v) {
    v("every", every, "Steps between two checkpoints (steps). 0: only at the end.", at_least(0));
    v("at_end", at_end,
      "true: the finished run is saved. false: it is not, for trials that only watch the loss; a "
      "stop request still saves.");
    v("keep", keep, "Newest checkpoints that are kept (number).", at_least(1));
    v("when_busy", when_busy,
      "What happens when a checkpoint falls due while the last one is still being written. wait: "
      "training waits, and the log says for how long. skip: this one is left out, and the log says "
      "so; the run's last one never is.");
    v("resume", resume,
      "auto: the newest complete checkpoint of run.dir whose hashes hold, a fresh start when there "
      "is no checkpoint at all. never: a fresh start; refused when run.dir holds checkpoints. Or "
      "the path of a checkpoint folder: one of this run, to go back to it (later ones are set "
      "aside), or one of another, which starts a run that has none yet.");
  }
};

struct ValidateSection {
  std::int64_t every = 0;
  std::int64_t windows = 32;
  std::int64_t sampling_steps = 8;
  bool shuffled = false;

  template <class V>
  void fields(V&& v) {
    v("every", every, "Steps between two validations (steps). 0: never.", at_least(0));
    v("windows", windows, "Held-back windows that are scored, spread evenly (number).",
      at_least(1));
    v("sampling_steps", sampling_steps,
      "Euler steps from noise to actions and video when the action error is measured (number).",
      at_least(1));
    v("shuffled", shuffled,
      "true: also the action error with the pictures and prompts of other windows. A model that "
      "looks and listens does clearly worse then. Doubles the time of the sampling.");
  }
};

struct LogSection {
  std::int64_t every = 10;
  bool state_hash = false;

  template <class V>
  void fields(V&& v) {
    v("every", every,
      "Steps between two lines of progress in the log (steps); a terminal shows every step. "
      "metrics.jsonl has every step.",
      at_least(1));
    v("state_hash", state_hash,
      "At the end of a run, a line with the hash of its master weights and moments: runs that are "
      "equal bit for bit have the same, on equally many ranks and with the same strategy. Takes a "
      "few seconds.");
  }
};

// ---- resolved -----------------------------------------------------------------------------------

// TrainSection with the warm-up in steps.
struct ResolvedTrain {
  TrainSection options;  // warmup is a whole number of steps here
  std::int64_t warmup_steps = 0;

  [[nodiscard]] Schedule make_schedule() const;
};
// Problems: micro_batch above global_batch, a warm-up that is not a whole number of steps or longer
// than the run.
ResolvedTrain resolve(const TrainSection& section, Problems& problems);

}  // namespace wam
