#pragma once

#include <functional>
#include <memory>

#include <c10/core/Device.h>

namespace wam {

// Is told what happens to the graphs of a pool: for a watch that must know which collectives a
// replay issues.
class GraphObserver {
 public:
  GraphObserver() = default;
  GraphObserver(const GraphObserver&) = delete;
  GraphObserver& operator=(const GraphObserver&) = delete;
  GraphObserver(GraphObserver&&) = delete;
  GraphObserver& operator=(GraphObserver&&) = delete;
  virtual ~GraphObserver() = default;

  // What is enqueued between these two belongs to a graph and does not run. The result comes back
  // before every replay of it.
  virtual void begin_recording() = 0;
  virtual std::shared_ptr<const void> end_recording() = 0;
  virtual void before_replay(const std::shared_ptr<const void>& recording) = 0;
};

// Where graphs are recorded: one side stream and one pool of memory, shared by all graphs of an
// owner (D18), so that a second shape costs memory only where it needs more than the first.
//
// Graphs of one pool are replayed one after the other, and none leaves a value in the pool that is
// read after its replay: results are copied to tensors that were allocated outside.
class GraphPool {
 public:
  // `observer` may be null and outlives the pool. Errors: InvariantError in a build without CUDA.
  explicit GraphPool(c10::Device device, GraphObserver* observer = nullptr);
  ~GraphPool();
  GraphPool(const GraphPool&) = delete;
  GraphPool& operator=(const GraphPool&) = delete;
  GraphPool(GraphPool&&) = delete;
  GraphPool& operator=(GraphPool&&) = delete;

  struct Impl;
  [[nodiscard]] Impl& impl() const noexcept { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// While it lives, what this thread allocates is outside of every graph's pool: for tables that are
// made in a warm-up and read at every replay, where the replay of another graph would overwrite
// them. They are filled before it ends (a copy from ordinary host memory waits).
class LongLivedMemory {
 public:
  explicit LongLivedMemory(c10::Device device);
  ~LongLivedMemory();
  LongLivedMemory(const LongLivedMemory&) = delete;
  LongLivedMemory& operator=(const LongLivedMemory&) = delete;
  LongLivedMemory(LongLivedMemory&&) = delete;
  LongLivedMemory& operator=(LongLivedMemory&&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;  // none on the CPU
};

// Device work that is recorded once and replayed with one call.
//
// Stream:   recorded on the pool's stream, replayed on LibTorch's current one.
// Threads:  one; other threads may use the device meanwhile, but not this work's tensors.
// Shutdown: destroyed before its pool, and before the communicators that it uses.
class DeviceGraph {
 public:
  static constexpr int kWarmUps = 2;

  // Runs `work` kWarmUps times for real, so that libraries choose their algorithms and take their
  // workspace, then records it. With the inputs as they are at construction the work must change no
  // state that outlives it. `what` names the work in errors, as in "the training step".
  //
  // Errors: DeviceError that names the operation which cannot be recorded.
  DeviceGraph(GraphPool& pool, const char* what, const std::function<void()>& work);
  ~DeviceGraph();
  DeviceGraph(const DeviceGraph&) = delete;
  DeviceGraph& operator=(const DeviceGraph&) = delete;
  DeviceGraph(DeviceGraph&&) = delete;
  DeviceGraph& operator=(DeviceGraph&&) = delete;

  // Does not wait for the device.
  void replay();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wam
