#pragma once

#include <cstdint>
#include <vector>

namespace wam {

// Every draw of a run is a function of (run seed, purpose, ordinal, draw index): D7. `ordinal` is
// the number of the sample since the run began, or an index of what is drawn (a tensor of the
// model, an episode of a held-back split). No state, so nothing depends on ranks, workers,
// micro-batches or restarts.
enum class Purpose : std::uint32_t {
  kEpochOrder = 1,
  kAnchor = 2,
  kAugmentation = 3,
  kInstruction = 4,
  kVideoNoise = 5,
  kActionNoise = 6,
  kTimestep = 7,
  kInitialise = 8,
  kFrozenWeights = 9,
  kHeldBack = 10,
  kMixture = 11,
  kValidation = 12,
  kSampleWorld = 13,
  kReplacement = 14,
  kFixedAugmentation = 15,
};

// One stream of draws. Philox 4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1,
// 2, 3"): key = seed, counter = (draw index / 4, ordinal low, ordinal high, purpose).
class CounterStream {
 public:
  CounterStream(std::uint64_t seed, Purpose purpose, std::uint64_t ordinal);

  // Draw number `index` of this stream, 32 bits.
  [[nodiscard]] std::uint32_t bits(std::uint64_t index) const;
  // In [0, 1), 24 bits: equal on CPU and GPU.
  [[nodiscard]] float uniform(std::uint64_t index) const;
  // In [0, 1), 53 bits, from draws 2*index and 2*index+1.
  [[nodiscard]] double uniform_double(std::uint64_t index) const;
  // In [0, bound), bound >= 1, from draws 2*index and 2*index+1 (bias below 2^-40 for bounds
  // below 2^24).
  [[nodiscard]] std::uint64_t below(std::uint64_t bound, std::uint64_t index) const;
  // count standard normals, draw indices first, first+1, ...: Box-Muller on pairs (2k, 2k+1) in
  // double, rounded to float. Value i is a function of i alone.
  void normals(float* out, std::int64_t count, std::uint64_t first = 0) const;
  void uniforms(float* out, std::int64_t count, std::uint64_t first = 0) const;

 private:
  void block(std::uint64_t block_idx, std::uint32_t out[4]) const;

  std::uint32_t key_[2];
  std::uint32_t ordinal_[2];
  std::uint32_t purpose_;
};

// A bijection of [0, n): position -> index, computed and not stored (D8). Cycle-walking Feistel
// network of six rounds over the smallest even power of two that holds n.
class Permutation {
 public:
  Permutation(std::uint64_t n, std::uint64_t seed, Purpose purpose, std::uint64_t ordinal);
  [[nodiscard]] std::uint64_t operator()(std::uint64_t position) const;
  [[nodiscard]] std::uint64_t size() const noexcept { return n_; }

 private:
  std::uint64_t n_;
  std::uint32_t half_bits_;
  CounterStream stream_;
};

// FNV-1a 64 over bytes: stable keys from names.
std::uint64_t fnv1a64(const char* data, std::uint64_t size);

}  // namespace wam
