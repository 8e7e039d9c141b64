#include "apps/wamtrain/ranks.h"

#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <c10/util/Exception.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <unistd.h>

#include "apps/wamtrain/exit_code.h"
#include "core/cuda/device.h"
#include "core/cuda/device_counter.h"
#include "parallel/launch/exchange.h"
#include "parallel/launch/gathering.h"
#include "parallel/launch/placement.h"
#include "parallel/mesh/mesh.h"
#include "parallel/watch/watch.h"

namespace wam {
namespace {

// What a watch may need when all else is stuck; it keeps them alive.
struct Abortable {
  std::vector<std::shared_ptr<Collectives>> collectives;
  std::shared_ptr<DeviceCounter> counter;

  void abort() const {
    for (const auto& axis : collectives) axis->abort();
  }
};

// The collectives of a graph are issued by its replays.
class ReplayTeller final : public GraphObserver {
 public:
  explicit ReplayTeller(Progress& progress) : progress_(progress) {}
  void begin_recording() override { progress_.begin_recording(); }
  std::shared_ptr<const void> end_recording() override { return progress_.end_recording(); }
  void before_replay(const std::shared_ptr<const void>& recording) override {
    progress_.replay(std::static_pointer_cast<const RecordedCalls>(recording));
  }

 private:
  Progress& progress_;
};

// A value or an error in one text.
constexpr char kValue = 'v';
constexpr char kError = 'e';

}  // namespace

struct Ranks::Several {
  Several(const LaunchEnv& env,
          const StopSignal& signal,
          const std::filesystem::path& run_dir,
          std::chrono::milliseconds limit_,
          std::function<void(const std::string&)> last_words)
      : limit(limit_),
        gathering(env, {.run_dir = run_dir, .time_limit = limit_}),
        texts(gathering.shared_store(), env, limit_),
        watch(
            env,
            gathering.store(),
            progress,
            signal,
            {.limit = limit_,
             .completed = [held = abortable] { return held->counter ? held->counter->value() : 0; },
             .abort = [held = abortable] { held->abort(); },
             .last_words = std::move(last_words)}) {}

  std::chrono::milliseconds limit;
  std::shared_ptr<Abortable> abortable = std::make_shared<Abortable>();
  Progress progress;
  ReplayTeller replay_teller{progress};
  Gathering gathering;
  TextExchange texts;
  Watch watch;
};

Ranks::Ranks(const std::filesystem::path& run_dir, std::chrono::milliseconds limit, OnStop on_stop)
    : signal_(on_stop), env_(read_launch_env(process_environment())) {
  if (env_.world_size == 1) return;
  several_ =
      std::make_unique<Several>(env_, signal_, run_dir, limit, [this](const std::string& text) {
        print_error(text);
        note(text);
      });
}

Ranks::~Ranks() = default;

std::string Ranks::from_first(const std::function<std::string()>& make) {
  if (!several_) return make();
  c10d::Store& store = several_->gathering.store();
  const std::string key = fmt::format("from_first/{}", times_asked_++);
  if (is_first()) {
    try {
      const std::string value = make();
      store.set(key, kValue + value);
      return value;
    } catch (const std::exception& error) {
      store.set(key, fmt::format("{}{}", kError, exit_code_for(error)));
      throw;
    }
  }
  while (!store.check({key})) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const std::string text = store.get_to_str(key);
  if (text.front() == kValue) return text.substr(1);
  throw AlreadyTold("the first rank ended with an error", std::stoi(text.substr(1)));
}

void Ranks::first_does(const std::function<void()>& work) {
  from_first([&] {
    work();
    return std::string();
  });
}

void Ranks::wait_for_all() {
  if (!several_) return;
  c10d::Store& store = several_->gathering.store();
  const std::string key = fmt::format("wait_for_all/{}", times_met_++);
  store.add(key, 1);
  while (store.add(key, 0) < env_.world_size) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

MeshAxes Ranks::connect(const Layout& layout, c10::Device device) {
  if (!several_) return {};
  Abortable& held = *several_->abortable;
  if (device.is_cuda()) {
    check_own_gpu(device);
    held.counter = std::make_shared<DeviceCounter>(device);
  }
  const c10::intrusive_ptr<c10d::Store> store = several_->gathering.shared_store();
  MeshAxes axes = connect_mesh(layout, env_, store,
                               {.device = device,
                                .time_limit = several_->limit,
                                .progress = &several_->progress,
                                .counter = held.counter.get()});
  for (const auto& axis : {axes.world, axes.shards, axes.replicas}) {
    if (axis != nullptr) held.collectives.push_back(axis);
  }
  return axes;
}

void Ranks::check_own_gpu(c10::Device device) const {
  const std::string id = gpu_bus_ids().at(static_cast<std::size_t>(device.index()));
  const auto problem = shared_gpu(exchange()("gpus", fmt::format("{} of {}", id, env_.host)));
  require<DeviceError>(!problem, "{}", problem.value_or(""));
}

ExchangeTexts Ranks::exchange() const {
  if (!several_) return {};
  return [texts = several_->texts](const std::string& key, const std::string& mine) {
    return texts.all(key, mine);
  };
}

StopAgreement& Ranks::stop() {
  if (several_) return several_->watch.stop();
  return local_stop_;
}

void Ranks::moved() noexcept {
  if (several_) several_->progress.moved();
}

void Ranks::writer_moved() noexcept {
  moved();
  if (several_) several_->texts.goes_on();
}

PhaseObserver* Ranks::observer() {
  return several_ ? &several_->progress : nullptr;
}

GraphObserver* Ranks::graph_observer() {
  return several_ ? &several_->replay_teller : nullptr;
}

void Ranks::note(const std::string& error) {
  const std::lock_guard lock(note_mutex_);
  if (note_) note_(error);
}

int Ranks::run(const std::function<int()>& work,
               const std::function<void(const std::string&)>& note_error) {
  {
    const std::lock_guard lock(note_mutex_);
    note_ = note_error;
  }
  try {
    return several_ ? run_together(work) : work();
  } catch (const RankFailed& error) {
    note(fmt::format("{} It says: {}", error.what(), error.error()));
    throw;
  } catch (const std::exception& error) {
    note(error.what());
    throw;
  }
}

int Ranks::run_together(const std::function<int()>& work) {
  try {
    const int code = work();
    several_->progress.enter(Phase::kLeaving, 0, 0);
    several_->watch.leave();
    several_->gathering.leave();
    return code;
  } catch (const AlreadyTold&) {
    throw;
  } catch (const CommError& error) {
    several_->watch.explain(error.what());
  } catch (const FailedOnRank& error) {
    several_->watch.explain(error.what());
  } catch (const c10::DistError& error) {
    several_->watch.explain(error.what_without_backtrace());
  } catch (const std::exception& error) {
    tell(error);
  }
}

void Ranks::end_now(const Error& error) {
  note(error.what());
  _exit(exit_code_of([&]() -> int {
    if (several_) tell(error);
    print_error(error);
    return exit_code_for(error);
  }));
}

void Ranks::tell(const std::exception& error) {
  const int code = exit_code_for(error);
  try {
    several_->watch.report_error(error.what(), code);
  } catch (const RankFailed& other) {
    if (other.error() != error.what()) throw;
    throw AlreadyTold(error.what(), other.exit_code());
  }
  // At once: a launcher kills this process a moment after the first of the others has left.
  print_error(error);
  throw AlreadyTold(error.what(), code);
}

}  // namespace wam
