// watch_program RUN_DIR LIMIT_MS STEPS STEP_US [FAULT RANK STEP]: one rank of a run that is nothing
// but steps, each with a wait for data and an all-reduce, or none when FAULT is "free". FAULT
// happens to RANK before that step's all-reduce, which is Gloo's when FAULT begins with "gloo:".
// Exit codes as the trainer's.

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <ATen/ops/ones.h>
#include <c10/util/Exception.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <unistd.h>

#include "core/base/errors.h"
#include "core/train/stop_signal.h"
#include "parallel/collectives/gloo_collectives.h"
#include "parallel/launch/gathering.h"
#include "parallel/watch/watch.h"
#include "parallel/watch/watched_collectives.h"

namespace {

using std::chrono::milliseconds;
using wam::Phase;

struct Settings {
  std::string run_dir;
  milliseconds limit;
  std::int64_t steps = 0;
  std::chrono::microseconds step_time;
  std::string fault;
  bool uses_gloo = false;
  int fault_rank = -1;
  std::int64_t fault_step = -1;
};

Settings read_settings(int argc, char** argv) {
  if (argc != 5 && argc != 8) throw wam::ConfigError("arguments are missing");
  Settings out{.run_dir = argv[1],
               .limit = milliseconds(std::atoi(argv[2])),
               .steps = std::atoi(argv[3]),
               .step_time = std::chrono::microseconds(std::atoi(argv[4])),
               .fault = "none"};
  if (argc == 8) {
    out.fault = argv[5];
    out.uses_gloo = out.fault.starts_with("gloo:");
    if (out.uses_gloo) out.fault.erase(0, 5);
    out.fault_rank = std::atoi(argv[6]);
    out.fault_step = std::atoi(argv[7]);
  }
  return out;
}

void print_error(const std::string& text) {
  fmt::print(stderr, "wamtrain: {}\n", text);
}

// Blocks as NCCL does: until all ranks have come or it is aborted.
class FakeCollectives {
 public:
  FakeCollectives(const wam::LaunchEnv& env, c10d::Store& store, wam::Progress& progress)
      : env_(env), store_(store), progress_(progress) {}

  void all_reduce(const std::string& purpose) {
    const auto sequence = progress_.begin(
        {.operation = "all_reduce", .axis = "data", .purpose = purpose, .bytes = 1024});
    const std::string key = fmt::format("{}/{}", purpose, sequence);
    try {
      store_.add(key, 1);
      while (store_.add(key, 0) < env_.world_size) {
        if (*aborted_) throw wam::CommError("aborted");
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    } catch (const c10::Error& error) {
      throw wam::CommError(error.what_without_backtrace());
    }
    progress_.end(sequence);
  }

  [[nodiscard]] std::function<void()> abort() const {
    return [aborted = aborted_] { *aborted = true; };
  }

 private:
  const wam::LaunchEnv& env_;
  c10d::Store& store_;
  wam::Progress& progress_;
  std::shared_ptr<std::atomic<bool>> aborted_ = std::make_shared<std::atomic<bool>>(false);
};

// The trainer's own between CPUs.
class GlooCollectives {
 public:
  GlooCollectives(const wam::LaunchEnv& env, wam::Gathering& gathering, wam::Progress& progress)
      : collectives_(wam::make_watched(
            wam::make_gloo_collectives(
                {.name = "data",
                 .size = env.world_size,
                 .rank = env.global_rank,
                 .group = 0,
                 .global_rank = env.global_rank},
                gathering.shared_store(),
                {.time_limit = std::chrono::minutes(5), .address = {}, .interface = "lo"}),
            "data",
            progress,
            nullptr)) {}

  void all_reduce(const std::string& purpose) {
    at::Tensor values = at::ones({256});
    collectives_->all_reduce_sum(values, purpose);
  }

 private:
  std::unique_ptr<wam::Collectives> collectives_;
};

class Run {
 public:
  Run(const Settings& settings, const wam::LaunchEnv& env, const wam::StopSignal& signal)
      : settings_(settings), env_(env), signal_(signal) {}

  void train() {
    fmt::print("rank {} begins\n", env_.global_rank);
    try {
      steps();
      watch_.leave();
      gathering_.leave();
    } catch (const wam::CommError& error) {
      watch_.explain(error.what());
    } catch (const std::exception& error) {
      watch_.report_error(error.what(), 2);
      throw;
    }
  }

 private:
  [[nodiscard]] bool has(const std::string& fault, std::int64_t step) const {
    return settings_.fault == fault && env_.global_rank == settings_.fault_rank &&
           step == settings_.fault_step;
  }

  void steps() {
    if (settings_.uses_gloo) gloo_.emplace(env_, gathering_, progress_);
    const bool coupled = settings_.fault != "free";
    for (std::int64_t step = 1; step <= settings_.steps; ++step) {
      if (watch_.stop().agreed()) {
        fmt::print("rank {} stops before step {}: {}\n", env_.global_rank, step,
                   watch_.stop().reason());
        return;
      }
      progress_.enter(Phase::kDataWait, step, 1);
      std::this_thread::sleep_for(settings_.step_time * (coupled ? 1 : env_.global_rank + 1));
      if (has("sleep", step) || has("stuck", step)) sleep_for_ever();
      progress_.enter(Phase::kForwardBackward, step, 1);
      fail(step);
      if (coupled) all_reduce(has("mismatch", step) ? "gradients" : "losses");
    }
    if (has("late", settings_.steps)) save_slowly();
    fmt::print("rank {} finished\n", env_.global_rank);
  }

  void all_reduce(const std::string& purpose) {
    settings_.uses_gloo ? gloo_->all_reduce(purpose) : collectives_.all_reduce(purpose);
  }

  void fail(std::int64_t step) const {
    if (has("kill", step)) std::raise(SIGKILL);
    if (has("freeze", step)) std::raise(SIGSTOP);
    if (has("error", step)) throw wam::DataError("no such episode. Fix: none.");
    if (has("fail", step)) throw wam::CommError("the link is down");
  }

  [[noreturn]] static void sleep_for_ever() {
    for (;;) ::pause();
  }

  // Longer than any limit, but it moves.
  void save_slowly() {
    for (int part = 1; part <= 10; ++part) {
      progress_.enter(Phase::kCheckpoint, settings_.steps, part);
      std::this_thread::sleep_for(settings_.limit / 4);
    }
  }

  const Settings& settings_;
  const wam::LaunchEnv& env_;
  const wam::StopSignal& signal_;
  wam::Gathering gathering_{env_, {.run_dir = settings_.run_dir}};
  wam::Progress progress_;
  FakeCollectives collectives_{env_, gathering_.store(), progress_};
  std::optional<GlooCollectives> gloo_;
  wam::Watch watch_{env_,
                    gathering_.store(),
                    progress_,
                    signal_,
                    {.limit = settings_.limit,
                     .completed = {},
                     // "stuck": nothing ends the collectives of any rank.
                     .abort = settings_.fault == "stuck" ? nullptr : collectives_.abort(),
                     .last_words = print_error,
                     .grace = std::chrono::seconds(2)}};
};

int run(int argc, char** argv, const wam::StopSignal& signal) {
  try {
    const Settings settings = read_settings(argc, argv);
    const wam::LaunchEnv env = wam::read_launch_env(wam::process_environment());
    Run(settings, env, signal).train();
    return 0;
  } catch (const wam::RankFailed& error) {
    print_error(error.what());
    return error.exit_code();
  } catch (const wam::CommError& error) {
    print_error(error.what());
    return 3;
  } catch (const wam::Error& error) {
    print_error(error.what());
    return 2;
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const wam::StopSignal signal;
  // Without destructors: a signal that comes late must not change the exit code.
  _exit(run(argc, argv, signal));
}
