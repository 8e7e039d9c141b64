#include "data/loader/guarded_dataset.h"

#include <numeric>
#include <thread>
#include <utility>

#include "core/base/data_errors.h"
#include "core/random/counter.h"

namespace wam {

GuardedDataset::GuardedDataset(std::shared_ptr<const Dataset> dataset, BadSampleRule rule)
    : dataset_(std::move(dataset)), rule_(std::move(rule)) {
  invariant(
      std::accumulate(rule_.sizes.begin(), rule_.sizes.end(), std::uint64_t{0}) == dataset_->size(),
      "the sizes of the parts of this dataset");
}

Sample GuardedDataset::read(std::uint64_t window_idx,
                            std::uint64_t ordinal,
                            Transforms transforms) const {
  auto pause = rule_.pause;
  for (int repeat = 0;; ++repeat) {
    try {
      return dataset_->load(window_idx, ordinal, transforms);
    } catch (const ReadError& error) {
      if (repeat == kRepeats) {
        throw ReadError(fmt::format("{} (The same {} times.)", error.what(), kRepeats + 1));
      }
    }
    std::this_thread::sleep_for(pause);
    pause *= 4;
  }
}

std::uint64_t GuardedDataset::replacement(std::uint64_t window_idx,
                                          std::uint64_t ordinal,
                                          std::uint64_t attempt) const {
  std::uint64_t first = 0;
  std::size_t part = 0;
  while (window_idx >= first + rule_.sizes[part]) first += rule_.sizes[part++];
  const CounterStream stream(rule_.seed, Purpose::kReplacement, ordinal);
  return first + stream.below(rule_.sizes[part], attempt);
}

Sample GuardedDataset::load(std::uint64_t window_idx,
                            std::uint64_t ordinal,
                            Transforms transforms) const {
  std::vector<BadSample> replaced;
  std::uint64_t window = window_idx;
  for (;;) {
    try {
      Sample sample = read(window, ordinal, transforms);
      sample.replaced.insert(sample.replaced.begin(), replaced.begin(), replaced.end());
      return sample;
    } catch (const ContentError& error) {
      if (!rule_.replaces) {
        throw ContentError(
            fmt::format("{} Or train without such samples, each noted: data.on_bad_sample: skip.",
                        error.what()));
      }
      replaced.push_back({ordinal, dataset_->identify(window), error.what()});
    }
    require<DataError>(
        static_cast<std::int64_t>(replaced.size()) <= rule_.limit,
        "replacing sample {}: {} windows in a row have bad content, which is more than "
        "data.max_bad_samples ({}) in one sample. The last: {}",
        ordinal, replaced.size(), rule_.limit, replaced.back().why);
    window = replacement(window_idx, ordinal, replaced.size() - 1);
  }
}

}  // namespace wam
