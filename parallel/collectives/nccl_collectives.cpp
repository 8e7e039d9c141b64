#include "parallel/collectives/nccl_collectives.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <nccl.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "core/base/errors.h"
#include "core/base/format.h"

namespace wam {
namespace {

ncclDataType_t nccl_type(at::ScalarType type) {
  switch (type) {
    case at::kBFloat16:
      return ncclBfloat16;
    case at::kFloat:
      return ncclFloat32;
    case at::kDouble:
      return ncclFloat64;
    default:
      throw InvariantError("a collective over values of a type that nothing communicates");
  }
}

std::size_t count_of(const at::Tensor& tensor) {
  return static_cast<std::size_t>(tensor.numel());
}

// A communicator, alive for as long as somebody uses it or memory that is registered with it.
struct Communicator {
  Communicator() = default;
  ~Communicator() {
    if (handle != nullptr && !aborted) ncclCommDestroy(handle);
  }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  Communicator(Communicator&&) = delete;
  Communicator& operator=(Communicator&&) = delete;

  ncclComm_t handle = nullptr;
  std::atomic<bool> aborted = false;
};

// Memory that a communicator knows, at the same offsets on all ranks.
struct RegisteredMemory {
  explicit RegisteredMemory(std::shared_ptr<Communicator> of) : communicator(std::move(of)) {}
  ~RegisteredMemory() {
    if (window != nullptr && !communicator->aborted) {
      ncclCommWindowDeregister(communicator->handle, window);
    }
    if (memory != nullptr) ncclMemFree(memory);
  }
  RegisteredMemory(const RegisteredMemory&) = delete;
  RegisteredMemory& operator=(const RegisteredMemory&) = delete;
  RegisteredMemory(RegisteredMemory&&) = delete;
  RegisteredMemory& operator=(RegisteredMemory&&) = delete;

  std::shared_ptr<Communicator> communicator;
  void* memory = nullptr;
  ncclWindow_t window = nullptr;
};

class NcclCollectives final : public Collectives {
 public:
  NcclCollectives(const Axis& axis,
                  const c10::intrusive_ptr<c10d::Store>& store,
                  c10::Device device)
      : axis_(axis) {
    const c10::cuda::CUDAGuard guard(device);
    const ncclUniqueId id = shared_id(*store);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.commName = axis_.name.c_str();
    // Gathers between GPUs of one NVLink domain go through copy engines, where memory allows it
    // (allocate): multiprocessors are left to the arithmetic that runs meanwhile.
    config.CTAPolicy = NCCL_CTA_POLICY_ZERO;
    check(ncclCommInitRankConfig(&communicator_->handle, axis_.size, id, axis_.rank, &config),
          "connecting", "its ranks");
    say_hello(device);
  }

  [[nodiscard]] int axis_size() const override { return axis_.size; }
  [[nodiscard]] int axis_rank() const override { return axis_.rank; }

  void all_reduce_sum(at::Tensor& values, const std::string& what) override {
    check(ncclAllReduce(values.const_data_ptr(), values.mutable_data_ptr(), count_of(values),
                        nccl_type(values.scalar_type()), ncclSum, communicator_->handle,
                        stream(values)),
          "all-reducing", what);
  }

  void all_gather(at::Tensor& full, const at::Tensor& piece, const std::string& what) override {
    invariant(full.numel() == piece.numel() * axis_.size, "a gather of unequal pieces");
    check(ncclAllGather(piece.const_data_ptr(), full.mutable_data_ptr(), count_of(piece),
                        nccl_type(piece.scalar_type()), communicator_->handle, stream(full)),
          "all-gathering", what);
  }

  void reduce_scatter_sum(at::Tensor& piece, at::Tensor& full, const std::string& what) override {
    invariant(full.numel() == piece.numel() * axis_.size, "a scatter of unequal pieces");
    check(ncclReduceScatter(full.const_data_ptr(), piece.mutable_data_ptr(), count_of(piece),
                            nccl_type(piece.scalar_type()), ncclSum, communicator_->handle,
                            stream(full)),
          "reduce-scattering", what);
  }

  at::Tensor allocate(std::int64_t numel, at::ScalarType type, at::Device device) override {
    const auto held = std::make_shared<RegisteredMemory>(communicator_);
    const std::size_t alignment = NCCL_WIN_REQUIRED_ALIGNMENT;
    const std::size_t wanted = static_cast<std::size_t>(numel) * c10::elementSize(type);
    const std::size_t bytes =
        (std::max<std::size_t>(wanted, 1) + alignment - 1) / alignment * alignment;
    const std::string what = human_bytes(static_cast<double>(bytes)) + " of device memory";
    check(ncclMemAlloc(&held->memory, bytes), "allocating", what);
    check(ncclCommWindowRegister(communicator_->handle, held->memory, bytes, &held->window,
                                 NCCL_WIN_COLL_SYMMETRIC),
          "registering", what);
    at::Tensor out = at::from_blob(
        held->memory, {numel}, [held](void*) {}, at::TensorOptions(device).dtype(type));
    return out.zero_();
  }

  void abort() override {
    if (!communicator_->aborted.exchange(true)) ncclCommAbort(communicator_->handle);
  }

 private:
  static cudaStream_t stream(const at::Tensor& tensor) {
    return c10::cuda::getCurrentCUDAStream(tensor.device().index()).stream();
  }

  // Made by the axis's first rank.
  [[nodiscard]] ncclUniqueId shared_id(c10d::Store& store) const {
    const std::string key = fmt::format("nccl/{}/{}", axis_.name, axis_.group);
    ncclUniqueId id;
    if (axis_.rank == 0) {
      check(ncclGetUniqueId(&id), "naming", "the group");
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(&id);
      store.set(key, std::vector<std::uint8_t>(bytes, bytes + sizeof(id)));
      return id;
    }
    const std::vector<std::uint8_t> bytes = store.get(key);
    invariant(bytes.size() == sizeof(id), "an NCCL group's name of the wrong length");
    std::memcpy(&id, bytes.data(), sizeof(id));
    return id;
  }

  void say_hello(c10::Device device) {
    at::Tensor full = at::zeros({64 * axis_.size}, at::TensorOptions(device).dtype(at::kFloat));
    at::Tensor piece = full.narrow(0, 64 * axis_.rank, 64);
    all_reduce_sum(full, "a first value");
    all_gather(full, piece, "a first value");
    reduce_scatter_sum(piece, full, "a first value");
    c10::cuda::getCurrentCUDAStream(device.index()).synchronize();
  }

  void check(ncclResult_t result, const char* doing, const std::string& what) const {
    if (result == ncclSuccess) return;
    throw CommError(
        fmt::format("{} {} over the {} axis (rank {}, {} of {} on it): NCCL says {} ({})", doing,
                    what, axis_.name, axis_.global_rank, axis_.rank, axis_.size,
                    ncclGetErrorString(result), ncclGetLastError(communicator_->handle)));
  }

  Axis axis_;
  std::shared_ptr<Communicator> communicator_ = std::make_shared<Communicator>();
};

}  // namespace

std::unique_ptr<Collectives> make_nccl_collectives(const Axis& axis,
                                                   const c10::intrusive_ptr<c10d::Store>& store,
                                                   c10::Device device) {
  return std::make_unique<NcclCollectives>(axis, store, device);
}

}  // namespace wam
