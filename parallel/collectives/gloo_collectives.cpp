#include "parallel/collectives/gloo_collectives.h"

#include <utility>
#include <vector>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "core/base/errors.h"
#include "core/base/format.h"

namespace wam {
namespace {

auto device_of(const GlooOptions& options) {
  using Group = c10d::ProcessGroupGloo;
  if (!options.interface.empty()) return Group::createDeviceForInterface(options.interface);
  if (!options.address.empty()) return Group::createDeviceForHostname(options.address);
  return Group::createDefaultDevice();
}

class GlooCollectives final : public Collectives {
 public:
  GlooCollectives(const Axis& axis,
                  const c10::intrusive_ptr<c10d::Store>& store,
                  const GlooOptions& options)
      : axis_(axis) {
    guarded("connecting", "its ranks", [&] {
      auto group_options = c10d::ProcessGroupGloo::Options::create(options.time_limit);
      group_options->devices.push_back(device_of(options));
      const auto own_keys = c10::make_intrusive<c10d::PrefixStore>(
          fmt::format("gloo/{}/{}", axis.name, axis.group), store);
      group_ = c10::make_intrusive<c10d::ProcessGroupGloo>(own_keys, axis.rank, axis.size,
                                                           std::move(group_options));
    });
  }

  [[nodiscard]] int axis_size() const override { return axis_.size; }
  [[nodiscard]] int axis_rank() const override { return axis_.rank; }

  void all_reduce_sum(at::Tensor& values, const std::string& what) override {
    guarded("all-reducing", what, [&] {
      std::vector<at::Tensor> tensors{values};
      group_->allreduce(tensors)->wait();
    });
  }

  void all_gather(at::Tensor& full, const at::Tensor& piece, const std::string& what) override {
    guarded("all-gathering", what, [&] {
      at::Tensor input = piece;
      group_->_allgather_base(full, input)->wait();
    });
  }

  void reduce_scatter_sum(at::Tensor& piece, at::Tensor& full, const std::string& what) override {
    guarded("reduce-scattering", what, [&] { group_->_reduce_scatter_base(piece, full)->wait(); });
  }

 private:
  template <class Work>
  void guarded(const char* doing, const std::string& what, const Work& work) const {
    try {
      work();
    } catch (const std::exception& error) {
      throw CommError(fmt::format("{} {} over the {} axis (rank {}, {} of {} on it): {}", doing,
                                  what, axis_.name, axis_.global_rank, axis_.rank, axis_.size,
                                  first_line(error.what())));
    }
  }

  Axis axis_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
};

}  // namespace

std::unique_ptr<Collectives> make_gloo_collectives(const Axis& axis,
                                                   const c10::intrusive_ptr<c10d::Store>& store,
                                                   const GlooOptions& options) {
  return std::make_unique<GlooCollectives>(axis, store, options);
}

}  // namespace wam
