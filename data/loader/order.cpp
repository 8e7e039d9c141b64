#include "data/loader/order.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/base/errors.h"
#include "core/random/counter.h"

namespace wam {
namespace {

// Whole numbers in proportion to `shares` that add up to `total`: largest remainder, ties to the
// first.
std::vector<std::uint64_t> apportion(const std::vector<double>& shares, std::uint64_t total) {
  std::vector<std::uint64_t> out;
  std::vector<std::pair<double, std::size_t>> remainders;
  std::uint64_t given = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double exact = shares[i] * static_cast<double>(total);
    out.push_back(static_cast<std::uint64_t>(exact));
    given += out.back();
    if (shares[i] > 0) remainders.emplace_back(std::floor(exact) - exact, i);
  }
  std::sort(remainders.begin(), remainders.end());
  for (std::size_t k = 0; given < total; ++k, ++given) {
    ++out[remainders[k % remainders.size()].second];
  }
  return out;
}

}  // namespace

SampleOrder::SampleOrder(std::vector<std::uint64_t> sizes,
                         const std::vector<double>& weights,
                         std::uint64_t seed)
    : sizes_(std::move(sizes)), seed_(seed) {
  invariant(sizes_.size() == weights.size(), "a weight for every dataset");
  std::vector<double> shares;
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    invariant(weights[i] > 0, "a weight above zero");
    shares.push_back(sizes_[i] > 0 ? weights[i] : 0);
    epoch_size_ += sizes_[i];
  }
  invariant(epoch_size_ > 0, "an order of no windows");
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (auto& share : shares) share /= sum;
  slots_ = apportion(shares, epoch_size_);
}

std::uint64_t SampleOrder::window(std::uint64_t ordinal) const {
  const std::uint64_t epoch = ordinal / epoch_size_;
  std::uint64_t slot =
      Permutation(epoch_size_, seed_, Purpose::kEpochOrder, epoch)(ordinal % epoch_size_);
  if (sizes_.size() == 1) return slot;
  std::size_t i = 0;
  std::uint64_t first_window = 0;
  for (; slot >= slots_[i]; ++i) {
    slot -= slots_[i];
    first_window += sizes_[i];
  }
  const std::uint64_t visit = epoch * slots_[i] + slot;
  const std::uint64_t pass = visit / sizes_[i] * sizes_.size() + i;
  const Permutation within(sizes_[i], seed_, Purpose::kMixture, pass);
  return first_window + within(visit % sizes_[i]);
}

std::int64_t BatchPlan::micro_steps() const {
  const auto ranks = static_cast<std::uint64_t>(world);
  const auto largest = static_cast<std::int64_t>((global_batch + ranks - 1) / ranks);
  return (largest + micro_batch - 1) / micro_batch;
}

std::vector<std::uint64_t> BatchPlan::ordinals(std::uint64_t step, std::int64_t micro_step) const {
  const std::uint64_t first = repeat_batch ? 0 : start + step * global_batch;
  const std::int64_t begin = micro_step * micro_batch;
  std::vector<std::uint64_t> out;
  for (std::int64_t i = begin; i < begin + micro_batch; ++i) {
    const auto position = static_cast<std::uint64_t>(rank + i * world);
    if (position < global_batch) out.push_back(first + position);
  }
  return out;
}

}  // namespace wam
