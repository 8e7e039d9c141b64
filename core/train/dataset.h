#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/train/batch.h"

namespace wam {

enum class Transforms { kTraining, kEvaluation };

// What the model's action values mean, for validation in physical units.
struct ActionMeaning {
  std::vector<std::string> names;  // one per real action dimension, e.g. "joint_position[3]"
};

// A fixed list of windows. Map-style: any window at any time, from any thread.
// Errors: DataError naming dataset, episode, file and frame.
class Dataset {
 public:
  Dataset() = default;
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;
  Dataset(Dataset&&) = delete;
  Dataset& operator=(Dataset&&) = delete;
  virtual ~Dataset() = default;

  // Windows that may be drawn.
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  [[nodiscard]] virtual SampleId identify(std::uint64_t window_idx) const = 0;
  // `ordinal` keys every random choice (crop, jitter, instruction).
  [[nodiscard]] virtual Sample load(std::uint64_t window_idx,
                                    std::uint64_t ordinal,
                                    Transforms transforms) const = 0;
  // Every text that `load` may put into Sample::prompt.
  [[nodiscard]] virtual std::vector<std::string> prompts() const = 0;
  // Changes when what the samples are made of changes, but not with the run's seed; resume compares
  // it. A JSON object, where it is one, lets resume name what differs.
  [[nodiscard]] virtual std::string fingerprint() const = 0;

  [[nodiscard]] virtual ActionMeaning action_meaning(std::int32_t dataset) const = 0;
  // (P, A) normalised -> (P, real dims) physical (relative actions stay relative), float64.
  [[nodiscard]] virtual at::Tensor physical_actions(std::int32_t dataset,
                                                    const at::Tensor& action_PA) const = 0;
};

// Text embeddings by prompt, ready before training starts.
class TextEmbeddings {
 public:
  TextEmbeddings() = default;
  TextEmbeddings(const TextEmbeddings&) = delete;
  TextEmbeddings& operator=(const TextEmbeddings&) = delete;
  TextEmbeddings(TextEmbeddings&&) = delete;
  TextEmbeddings& operator=(TextEmbeddings&&) = delete;
  virtual ~TextEmbeddings() = default;
  // (length, width) bf16 on the CPU: the valid rows only. Threads: any.
  // Errors: DataError when the prompt was not embedded.
  [[nodiscard]] virtual at::Tensor rows(const std::string& prompt) const = 0;
  [[nodiscard]] virtual std::int64_t width() const = 0;
};

// The stream of micro-batches of this rank, in the order of D8.
// Threads: one consumer.
class BatchSource {
 public:
  BatchSource() = default;
  BatchSource(const BatchSource&) = delete;
  BatchSource& operator=(const BatchSource&) = delete;
  BatchSource(BatchSource&&) = delete;
  BatchSource& operator=(BatchSource&&) = delete;
  virtual ~BatchSource() = default;

  // The next micro-batch; waits for the decoders. The micro-batches of one global batch come one
  // after the other, `micro_steps()` of them, the last ones smaller or empty.
  virtual Batch next() = 0;
  [[nodiscard]] virtual std::int64_t micro_steps() const = 0;
  // Samples of the whole run (all ranks) that belong to global batches handed out completely.
  [[nodiscard]] virtual std::uint64_t samples_consumed() const = 0;
  // Samples in one pass over the data.
  [[nodiscard]] virtual std::uint64_t epoch_size() const = 0;
};

}  // namespace wam
