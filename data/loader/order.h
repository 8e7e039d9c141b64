#pragma once

#include <cstdint>
#include <vector>

namespace wam {

// Which window each sample of the run is: a function of (seed, ordinal), computed and not stored.
//
// Note [Order of samples]
// One dataset: epoch = ordinal / size, window = Permutation(size, seed, kEpochOrder, epoch) of
// ordinal % size, so that every epoch has each window once.
// Several: an epoch has as many samples as there are windows in all. Of these, dataset i gets
// slots_i, its share weight_i / sum of weights, whole numbers by largest remainder. The same
// permutation sends a position to a slot, and the slots of a dataset, counted through all epochs,
// run through its own permutations (kMixture, key (pass, i)): shares are exact in every epoch, and
// a dataset's windows come once each before any comes again.
class SampleOrder {
 public:
  // Sizes and weights by dataset; empty datasets are never drawn.
  // Errors: InvariantError (no window at all, a weight that is not positive).
  SampleOrder(std::vector<std::uint64_t> sizes,
              const std::vector<double>& weights,
              std::uint64_t seed);

  [[nodiscard]] std::uint64_t epoch_size() const noexcept { return epoch_size_; }
  // Number of the window, counted through all datasets.
  [[nodiscard]] std::uint64_t window(std::uint64_t ordinal) const;
  // Samples of an epoch by dataset.
  [[nodiscard]] const std::vector<std::uint64_t>& slots() const noexcept { return slots_; }

 private:
  std::vector<std::uint64_t> sizes_;
  std::vector<std::uint64_t> slots_;
  std::uint64_t seed_;
  std::uint64_t epoch_size_ = 0;
};

// How the stream of samples is cut into micro-batches.
struct BatchPlan {
  std::uint64_t global_batch = 1;  // B
  std::int64_t micro_batch = 1;    // m
  std::int64_t rank = 0;           // of `world`
  std::int64_t world = 1;
  std::uint64_t start = 0;    // ordinal of the first sample
  bool repeat_batch = false;  // every step is the batch of ordinals 0 ... B-1

  // ceil(ceil(B / world) / m), on every rank.
  [[nodiscard]] std::int64_t micro_steps() const;
  // Ordinals of one micro-batch: of the batch's positions rank, rank + world, ... those from
  // micro_step * m on, at most m; fewer or none at the end.
  [[nodiscard]] std::vector<std::uint64_t> ordinals(std::uint64_t step,
                                                    std::int64_t micro_step) const;
};

}  // namespace wam
