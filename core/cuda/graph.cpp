#include "core/cuda/graph.h"

#include <mutex>
#include <string>
#include <string_view>

#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraph.h>
#include <ATen/record_function.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>

#include "core/base/errors.h"
#include "core/base/format.h"

namespace wam {
namespace {

// The operation that LibTorch started last on a stream that records: the one that a failed
// recording names. LibTorch's observers are plain functions, so there is no other place for it.
std::mutex last_operation_mutex;
std::string last_operation;

std::unique_ptr<at::ObserverContext> note_operation(const at::RecordFunction& function) {
  if (c10::cuda::currentStreamCaptureStatusMayInitCtx() != c10::cuda::CaptureStatus::None) {
    const std::lock_guard lock(last_operation_mutex);
    last_operation = function.name();
  }
  return nullptr;
}

class OperationWatch {
 public:
  OperationWatch() : handle_(at::addGlobalCallback(at::RecordFunctionCallback(&note_operation))) {
    const std::lock_guard lock(last_operation_mutex);
    last_operation = "its first operation";
  }
  ~OperationWatch() { at::removeCallback(handle_); }
  OperationWatch(const OperationWatch&) = delete;
  OperationWatch& operator=(const OperationWatch&) = delete;
  OperationWatch(OperationWatch&&) = delete;
  OperationWatch& operator=(OperationWatch&&) = delete;

  [[nodiscard]] static std::string last() {
    const std::lock_guard lock(last_operation_mutex);
    return last_operation;
  }

 private:
  at::CallbackHandle handle_;
};

void wait_for(const c10::cuda::CUDAStream& waiting, const c10::cuda::CUDAStream& first) {
  at::cuda::CUDAEvent done;
  done.record(first);
  done.block(waiting);
}

// While it lives, what `stream` asks for comes from one pool.
class AllocatesTo {
 public:
  AllocatesTo(c10::DeviceIndex device,
              at::cuda::MempoolId_t memory,
              const c10::cuda::CUDAStream& stream)
      : device_(device), memory_(memory) {
    c10::cuda::CUDACachingAllocator::beginAllocateToPool(
        device, memory, [of = stream.stream()](cudaStream_t asking) { return asking == of; });
  }
  ~AllocatesTo() { c10::cuda::CUDACachingAllocator::endAllocateToPool(device_, memory_); }
  AllocatesTo(const AllocatesTo&) = delete;
  AllocatesTo& operator=(const AllocatesTo&) = delete;
  AllocatesTo(AllocatesTo&&) = delete;
  AllocatesTo& operator=(AllocatesTo&&) = delete;

 private:
  c10::DeviceIndex device_;
  at::cuda::MempoolId_t memory_;
};

}  // namespace

// A pool serves the stream of its graphs alone, so the default stream's memory is outside of it.
struct LongLivedMemory::Impl {
  explicit Impl(c10::Device device) : guard(c10::cuda::getDefaultCUDAStream(device.index())) {}
  c10::cuda::CUDAStreamGuard guard;
};

LongLivedMemory::LongLivedMemory(c10::Device device)
    : impl_(device.is_cuda() ? std::make_unique<Impl>(device) : nullptr) {}
LongLivedMemory::~LongLivedMemory() = default;

struct GraphPool::Impl {
  Impl(c10::Device on, GraphObserver* told)
      : device(on),
        stream(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, on.index())),
        observer(told) {}

  // LibTorch gives a pool up with its last graph: the next one starts another.
  at::cuda::MempoolId_t memory_for_next() {
    if (graphs++ == 0) memory = at::cuda::graph_pool_handle();
    return memory;
  }

  c10::Device device;
  c10::cuda::CUDAStream stream;
  GraphObserver* observer;
  at::cuda::MempoolId_t memory{};
  int graphs = 0;  // alive
};

GraphPool::GraphPool(c10::Device device, GraphObserver* observer)
    : impl_(std::make_unique<Impl>(device, observer)) {}
GraphPool::~GraphPool() = default;

struct DeviceGraph::Impl {
  explicit Impl(GraphPool::Impl& of) : pool(of), memory(of.memory_for_next()) {}
  ~Impl() {
    c10::cuda::CUDACachingAllocator::releasePool(pool.device.index(),
                                                 memory);  // the warm-up's hold
    --pool.graphs;
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  Impl(Impl&&) = delete;
  Impl& operator=(Impl&&) = delete;

  GraphPool::Impl& pool;
  at::cuda::MempoolId_t memory;
  at::cuda::CUDAGraph graph;
  std::shared_ptr<const void> recording;  // the observer's

  // Takes its memory from the graph's own pool: the recording that follows uses the same again.
  void warm_up(const std::function<void()>& work) const {
    const AllocatesTo guard(pool.device.index(), memory, pool.stream);
    for (int i = 0; i < kWarmUps; ++i) work();
    pool.stream.synchronize();
  }

  void record(const char* what, const std::function<void()>& work) {
    const OperationWatch watch;
    try {
      // Of this thread only: the loader's threads may pin memory meanwhile.
      graph.capture_begin(memory, cudaStreamCaptureModeThreadLocal);
      observed(work);
      graph.capture_end();
    } catch (const c10::OutOfMemoryError&) {
      abandon(pool.stream);
      throw;
    } catch (const std::exception& error) {
      const std::string operation = OperationWatch::last();
      abandon(pool.stream);
      throw DeviceError(fmt::format(
          "recording {} as a CUDA graph: {} cannot be recorded: {}. Fix: set run.graphs=off, and "
          "report this.",
          what, operation, first_line(error.what())));
    }
  }

  void observed(const std::function<void()>& work) {
    if (pool.observer == nullptr) return work();
    pool.observer->begin_recording();
    try {
      work();
    } catch (...) {
      pool.observer->end_recording();
      throw;
    }
    recording = pool.observer->end_recording();
  }

  void abandon(const c10::cuda::CUDAStream& stream) {
    cudaGraph_t unfinished = nullptr;
    cudaStreamEndCapture(stream, &unfinished);
    if (unfinished != nullptr) cudaGraphDestroy(unfinished);
    cudaGetLastError();
  }
};

DeviceGraph::DeviceGraph(GraphPool& pool, const char* what, const std::function<void()>& work)
    : impl_(std::make_unique<Impl>(pool.impl())) {
  const auto outside = c10::cuda::getCurrentCUDAStream(pool.impl().device.index());
  wait_for(pool.impl().stream, outside);
  {
    const c10::cuda::CUDAStreamGuard guard(pool.impl().stream);
    c10::cuda::CUDACachingAllocator::emptyCache();
    impl_->warm_up(work);
    impl_->record(what, work);
  }
  wait_for(outside, pool.impl().stream);
}

DeviceGraph::~DeviceGraph() = default;

void DeviceGraph::replay() {
  if (impl_->pool.observer != nullptr) impl_->pool.observer->before_replay(impl_->recording);
  impl_->graph.replay();
}

}  // namespace wam
