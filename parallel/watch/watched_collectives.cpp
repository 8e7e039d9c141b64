#include "parallel/watch/watched_collectives.h"

#include <utility>

namespace wam {
namespace {

class WatchedCollectives final : public Collectives {
 public:
  WatchedCollectives(std::unique_ptr<Collectives> inner,
                     std::string axis,
                     Progress& progress,
                     DeviceCounter* counter)
      : inner_(std::move(inner)), axis_(std::move(axis)), progress_(progress), counter_(counter) {}

  [[nodiscard]] int axis_size() const override { return inner_->axis_size(); }
  [[nodiscard]] int axis_rank() const override { return inner_->axis_rank(); }

  void all_reduce_sum(at::Tensor& values, const std::string& what) override {
    watched("all_reduce", what, values, [&] { inner_->all_reduce_sum(values, what); });
  }
  void all_gather(at::Tensor& full, const at::Tensor& piece, const std::string& what) override {
    watched("all_gather", what, full, [&] { inner_->all_gather(full, piece, what); });
  }
  void reduce_scatter_sum(at::Tensor& piece, at::Tensor& full, const std::string& what) override {
    watched("reduce_scatter", what, full, [&] { inner_->reduce_scatter_sum(piece, full, what); });
  }
  at::Tensor allocate(std::int64_t numel, at::ScalarType type, at::Device device) override {
    return inner_->allocate(numel, type, device);
  }
  void abort() override { inner_->abort(); }

 private:
  template <class Work>
  void watched(const char* operation,
               const std::string& what,
               const at::Tensor& largest,
               const Work& work) {
    const auto number = progress_.begin({.operation = operation,
                                         .axis = axis_,
                                         .purpose = what,
                                         .bytes = static_cast<std::int64_t>(largest.nbytes())});
    work();
    if (counter_ != nullptr) {
      counter_->count();
    } else {
      progress_.end(number);
    }
  }

  std::unique_ptr<Collectives> inner_;
  std::string axis_;
  Progress& progress_;
  DeviceCounter* counter_;
};

}  // namespace

std::unique_ptr<Collectives> make_watched(std::unique_ptr<Collectives> inner,
                                          std::string axis,
                                          Progress& progress,
                                          DeviceCounter* counter) {
  return std::make_unique<WatchedCollectives>(std::move(inner), std::move(axis), progress, counter);
}

}  // namespace wam
