#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace wam {

// Which window each sample of the run is: a function of (seed, ordinal), computed and not stored.
//
// Note [Order of samples]
// One dataset: epoch = ordinal / size, window = Permutation(size, seed, kEpochOrder, epoch) of
// ordinal % size, so that every epoch has each window once.
// Several: dataset i gets its share weight_i / sum of weights of every 64 samples, exactly but for
// what rounds to a whole sample, and so of any number of them: which dataset the next sample is of
// is decided by whole numbers that grow in proportion (SampleOrder::slot), and a permutation of
// each 64 (kEpochOrder) keeps the datasets from taking turns in step with ranks and batches. The
// samples of a dataset, counted from the run's begin, run through its own permutations (kMixture,
// key (pass, i)): its windows come once each before any comes again. An epoch is as many samples as
// there are windows in all.
//
// MixtureDraw::kReference with several datasets: an epoch is the weighted mean of their sizes. What
// is drawn at a position of it, dataset by weight and then any of its windows, depends on the
// position alone (kMixture), so that every epoch has the same samples, in another order: most
// windows are never seen. For comparisons.
enum class MixtureDraw { kExact, kReference };

// The rule that a run of so many datasets follows, for its checkpoints. Whoever changes what a rule
// draws gives it another name: a checkpoint of the old one must not go on with it.
std::string order_name(std::size_t num_datasets, MixtureDraw draw);

class SampleOrder {
 public:
  // Sizes and weights by dataset; empty datasets are never drawn.
  // Errors: InvariantError (no window at all, a weight that is not positive).
  SampleOrder(std::vector<std::uint64_t> sizes,
              const std::vector<double>& weights,
              std::uint64_t seed,
              MixtureDraw draw = MixtureDraw::kExact);

  [[nodiscard]] std::uint64_t epoch_size() const noexcept { return epoch_size_; }
  // Of all datasets together.
  [[nodiscard]] std::uint64_t num_windows() const { return offsets_.back() + sizes_.back(); }
  // Number of the window, counted through all datasets.
  [[nodiscard]] std::uint64_t window(std::uint64_t ordinal) const;

 private:
  // A dataset, and how many of its samples come before.
  struct Slot {
    std::size_t dataset = 0;
    std::uint64_t visit = 0;
  };
  [[nodiscard]] Slot slot(std::uint64_t position) const;
  [[nodiscard]] std::uint64_t reference_window(std::uint64_t ordinal) const;

  std::vector<std::uint64_t> sizes_;
  std::vector<double> shares_;          // add up to 1
  std::vector<std::uint64_t> parts_;    // the same as whole numbers
  std::vector<std::uint64_t> offsets_;  // number of each dataset's first window
  std::uint64_t seed_;
  std::uint64_t epoch_size_ = 0;
  MixtureDraw draw_;
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
