#include "parallel/collectives/nccl_collectives.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <nccl.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "core/base/errors.h"

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
    check(ncclCommInitRankConfig(&communicator_, axis_.size, id, axis_.rank, &config), "connecting",
          "its ranks");
    say_hello(device);
  }

  ~NcclCollectives() override {
    if (!aborted_) ncclCommDestroy(communicator_);
  }
  NcclCollectives(const NcclCollectives&) = delete;
  NcclCollectives& operator=(const NcclCollectives&) = delete;
  NcclCollectives(NcclCollectives&&) = delete;
  NcclCollectives& operator=(NcclCollectives&&) = delete;

  [[nodiscard]] int axis_size() const override { return axis_.size; }
  [[nodiscard]] int axis_rank() const override { return axis_.rank; }

  void all_reduce_sum(at::Tensor& values, const std::string& what) override {
    check(ncclAllReduce(values.const_data_ptr(), values.mutable_data_ptr(), count_of(values),
                        nccl_type(values.scalar_type()), ncclSum, communicator_, stream(values)),
          "all-reducing", what);
  }

  void all_gather(at::Tensor& full, const at::Tensor& piece, const std::string& what) override {
    invariant(full.numel() == piece.numel() * axis_.size, "a gather of unequal pieces");
    check(ncclAllGather(piece.const_data_ptr(), full.mutable_data_ptr(), count_of(piece),
                        nccl_type(piece.scalar_type()), communicator_, stream(full)),
          "all-gathering", what);
  }

  void reduce_scatter_sum(at::Tensor& piece, at::Tensor& full, const std::string& what) override {
    invariant(full.numel() == piece.numel() * axis_.size, "a scatter of unequal pieces");
    check(ncclReduceScatter(full.const_data_ptr(), piece.mutable_data_ptr(), count_of(piece),
                            nccl_type(piece.scalar_type()), ncclSum, communicator_, stream(full)),
          "reduce-scattering", what);
  }

  void abort() override {
    if (!aborted_.exchange(true)) ncclCommAbort(communicator_);
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
                    ncclGetErrorString(result), ncclGetLastError(communicator_)));
  }

  Axis axis_;
  ncclComm_t communicator_ = nullptr;
  std::atomic<bool> aborted_ = false;
};

}  // namespace

std::unique_ptr<Collectives> make_nccl_collectives(const Axis& axis,
                                                   const c10::intrusive_ptr<c10d::Store>& store,
                                                   c10::Device device) {
  return std::make_unique<NcclCollectives>(axis, store, device);
}

}  // namespace wam
