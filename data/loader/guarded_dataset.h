#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/train/dataset.h"

namespace wam {

struct BadSampleRule {
  bool replaces = false;             // false: bad content is an error
  std::int64_t limit = 0;            // windows that may be left out for one sample
  std::vector<std::uint64_t> sizes;  // windows by dataset
  std::uint64_t seed = 0;
  std::chrono::milliseconds pause{500};  // before a read is repeated; the next pause is longer
};

// A dataset whose faults are dealt with as the recipe says.
//
// A read that fails (ReadError) is repeated, at most kRepeats times. A window whose content is bad
// (ContentError) is replaced, where that is asked for, by another one of the same dataset, so that
// mixtures keep their shares: attempt k of the sample takes kReplacement(ordinal).below(windows of
// the dataset, k). That is a function of seed, ordinal and content alone: the same in every run and
// on any number of ranks and workers. The sample's draws stay those of its ordinal, and
// Sample::replaced says what was left out.
//
// Errors: those of the dataset; DataError when a sample needs more than `limit` replacements.
// Threads: any.
class GuardedDataset : public Dataset {
 public:
  static constexpr int kRepeats = 2;

  GuardedDataset(std::shared_ptr<const Dataset> dataset, BadSampleRule rule);

  [[nodiscard]] std::uint64_t size() const override { return dataset_->size(); }
  [[nodiscard]] SampleId identify(std::uint64_t window_idx) const override {
    return dataset_->identify(window_idx);
  }
  [[nodiscard]] Sample load(std::uint64_t window_idx,
                            std::uint64_t ordinal,
                            Transforms transforms) const override;
  [[nodiscard]] std::vector<std::string> prompts() const override { return dataset_->prompts(); }
  [[nodiscard]] std::string fingerprint() const override { return dataset_->fingerprint(); }
  [[nodiscard]] ActionMeaning action_meaning(std::int32_t dataset) const override {
    return dataset_->action_meaning(dataset);
  }
  [[nodiscard]] at::Tensor physical_actions(std::int32_t dataset,
                                            const at::Tensor& action_PA) const override {
    return dataset_->physical_actions(dataset, action_PA);
  }

 private:
  [[nodiscard]] Sample read(std::uint64_t window_idx,
                            std::uint64_t ordinal,
                            Transforms transforms) const;
  [[nodiscard]] std::uint64_t replacement(std::uint64_t window_idx,
                                          std::uint64_t ordinal,
                                          std::uint64_t attempt) const;

  std::shared_ptr<const Dataset> dataset_;
  BadSampleRule rule_;
};

}  // namespace wam
