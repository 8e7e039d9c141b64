#include "data/loader/order.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/base/errors.h"
#include "core/random/counter.h"

namespace wam {
namespace {

// Shares as whole numbers of this many parts: as fine as weights are written, and small enough for
// products with ordinals in 128 bits.
constexpr std::uint64_t kParts = std::uint64_t{1} << 40U;
// Samples that are mixed among each other.
constexpr std::uint64_t kMixed = 64;

std::uint64_t scaled(std::uint64_t count, std::uint64_t part, std::uint64_t whole) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(Wide{count} * part / whole);
}

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

std::string order_name(std::size_t num_datasets, MixtureDraw draw) {
  if (num_datasets == 1) return "one permutation an epoch";
  return draw == MixtureDraw::kExact ? "exact shares of every 64" : "the reference's mixture";
}

SampleOrder::SampleOrder(std::vector<std::uint64_t> sizes,
                         const std::vector<double>& weights,
                         std::uint64_t seed,
                         MixtureDraw draw)
    : sizes_(std::move(sizes)), seed_(seed), draw_(draw) {
  invariant(sizes_.size() == weights.size(), "a weight for every dataset");
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    invariant(weights[i] > 0, "a weight above zero");
    shares_.push_back(sizes_[i] > 0 ? weights[i] : 0);
    offsets_.push_back(epoch_size_);
    epoch_size_ += sizes_[i];
  }
  invariant(epoch_size_ > 0, "an order of no windows");
  const double sum = std::accumulate(shares_.begin(), shares_.end(), 0.0);
  for (auto& share : shares_) share /= sum;
  parts_ = apportion(shares_, kParts);
  if (draw_ == MixtureDraw::kReference && sizes_.size() > 1) {
    double mean = 0;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      mean += shares_[i] * static_cast<double>(sizes_[i]);
    }
    epoch_size_ = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(mean));
  }
}

// One dataset after the other takes its part of the positions that those before it left: of `count`
// of them, scaled(count). Position p is its own where that number grows from p to p + 1.
SampleOrder::Slot SampleOrder::slot(std::uint64_t position) const {
  std::uint64_t left = kParts;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i] == 0) continue;
    const std::uint64_t before = scaled(position, parts_[i], left);
    if (scaled(position + 1, parts_[i], left) > before) return {i, before};
    position -= before;
    left -= parts_[i];
  }
  throw InvariantError("a position that no dataset took");
}

std::uint64_t SampleOrder::window(std::uint64_t ordinal) const {
  const std::uint64_t epoch = ordinal / epoch_size_;
  if (sizes_.size() == 1) {
    return Permutation(epoch_size_, seed_, Purpose::kEpochOrder, epoch)(ordinal % epoch_size_);
  }
  if (draw_ == MixtureDraw::kReference) return reference_window(ordinal);
  const std::uint64_t group = ordinal / kMixed;
  const Permutation mixed(kMixed, seed_, Purpose::kEpochOrder, group);
  const auto [i, visit] = slot(group * kMixed + mixed(ordinal % kMixed));
  const std::uint64_t pass = visit / sizes_[i] * sizes_.size() + i;
  const Permutation within(sizes_[i], seed_, Purpose::kMixture, pass);
  return offsets_[i] + within(visit % sizes_[i]);
}

std::uint64_t SampleOrder::reference_window(std::uint64_t ordinal) const {
  const std::uint64_t epoch = ordinal / epoch_size_;
  const std::uint64_t position =
      Permutation(epoch_size_, seed_, Purpose::kEpochOrder, epoch)(ordinal % epoch_size_);
  const CounterStream stream(seed_, Purpose::kMixture, position);
  const std::uint64_t drawn = stream.below(kParts, 0);
  std::size_t i = 0;
  for (std::uint64_t end = parts_[0]; drawn >= end; end += parts_[i]) ++i;
  return offsets_[i] + stream.below(sizes_[i], 1);
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
