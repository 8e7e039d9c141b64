#include "core/random/counter.h"

#include <cmath>
#include <numbers>

#include "core/base/errors.h"

namespace wam {
namespace {

void philox_round(std::uint32_t counter[4], const std::uint32_t key[2]) {
  const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
  const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
  const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const std::uint32_t next[4] = {high(b) ^ counter[1] ^ key[0], low(b),
                                 high(a) ^ counter[3] ^ key[1], low(a)};
  for (int i = 0; i < 4; ++i) counter[i] = next[i];
}

}  // namespace

CounterStream::CounterStream(std::uint64_t seed, Purpose purpose, std::uint64_t ordinal)
    : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
      ordinal_{static_cast<std::uint32_t>(ordinal), static_cast<std::uint32_t>(ordinal >> 32)},
      purpose_(static_cast<std::uint32_t>(purpose)) {}

void CounterStream::block(std::uint64_t block_idx, std::uint32_t out[4]) const {
  // Draw indices stay below 2^32 * 4; the purpose leaves its upper bits to the block's.
  out[0] = static_cast<std::uint32_t>(block_idx);
  out[1] = ordinal_[0];
  out[2] = ordinal_[1];
  out[3] = purpose_ ^ (static_cast<std::uint32_t>(block_idx >> 32) << 8);
  std::uint32_t key[2] = {key_[0], key_[1]};
  for (int round = 0; round < 10; ++round) {
    if (round > 0) {
      key[0] += 0x9E3779B9;
      key[1] += 0xBB67AE85;
    }
    philox_round(out, key);
  }
}

std::uint32_t CounterStream::bits(std::uint64_t index) const {
  std::uint32_t words[4];
  block(index / 4, words);
  return words[index % 4];
}

float CounterStream::uniform(std::uint64_t index) const {
  return static_cast<float>(bits(index) >> 8) * 0x1p-24F;
}

double CounterStream::uniform_double(std::uint64_t index) const {
  const std::uint64_t high = bits(2 * index) >> 5;
  const std::uint64_t low = bits(2 * index + 1) >> 6;
  return static_cast<double>(high * 67108864 + low) * 0x1p-53;
}

std::uint64_t CounterStream::below(std::uint64_t bound, std::uint64_t index) const {
  invariant(bound > 0, "a draw below zero");
  const std::uint64_t word = (std::uint64_t{bits(2 * index)} << 32) | bits(2 * index + 1);
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(word) * bound) >> 64);
}

void CounterStream::normals(float* out, std::int64_t count, std::uint64_t first) const {
  std::uint32_t words[4];
  std::uint64_t loaded = ~std::uint64_t{0};
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t index = first + static_cast<std::uint64_t>(i);
    if (index / 4 != loaded) {
      loaded = index / 4;
      block(loaded, words);
    }
    const std::uint64_t pair = index % 4 / 2 * 2;
    // (k + 0.5) / 2^32 keeps the logarithm finite.
    const double u = (words[pair] + 0.5) * 0x1p-32;
    const double v = (words[pair + 1] + 0.5) * 0x1p-32;
    const double radius = std::sqrt(-2.0 * std::log(u));
    const double angle = 2.0 * std::numbers::pi * v;
    out[i] = static_cast<float>(radius * (index % 2 == 0 ? std::cos(angle) : std::sin(angle)));
  }
}

void CounterStream::uniforms(float* out, std::int64_t count, std::uint64_t first) const {
  std::uint32_t words[4];
  std::uint64_t loaded = ~std::uint64_t{0};
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t index = first + static_cast<std::uint64_t>(i);
    if (index / 4 != loaded) {
      loaded = index / 4;
      block(loaded, words);
    }
    out[i] = static_cast<float>(words[index % 4] >> 8) * 0x1p-24F;
  }
}

Permutation::Permutation(std::uint64_t n,
                         std::uint64_t seed,
                         Purpose purpose,
                         std::uint64_t ordinal)
    : n_(n), half_bits_(1), stream_(seed, purpose, ordinal) {
  invariant(n > 0, "a permutation of nothing");
  while ((std::uint64_t{1} << (2 * half_bits_)) < n) ++half_bits_;
}

std::uint64_t Permutation::operator()(std::uint64_t position) const {
  invariant(position < n_, "a position past the end of the permutation");
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t at = position;
  do {
    std::uint64_t left = at >> half_bits_;
    std::uint64_t right = at & mask;
    for (std::uint64_t round = 0; round < 6; ++round) {
      const std::uint64_t mixed = stream_.bits(right * 6 + round) & mask;
      left ^= mixed;
      std::swap(left, right);
    }
    at = (left << half_bits_) | right;
  } while (at >= n_);
  return at;
}

std::uint64_t fnv1a64(const char* data, std::uint64_t size) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::uint64_t i = 0; i < size; ++i) {
    hash = (hash ^ static_cast<unsigned char>(data[i])) * 0x100000001b3;
  }
  return hash;
}

}  // namespace wam
