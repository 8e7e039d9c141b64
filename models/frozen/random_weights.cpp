#include <algorithm>
#include <cmath>
#include <thread>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include "core/base/errors.h"
#include "core/random/counter.h"
#include "models/frozen/frozen_weights.h"

namespace wam {
namespace {

constexpr std::int64_t kPiece = 1 << 15;

// Uniform and not normal: a text encoder has 5.7e9 values, and Box-Muller would take minutes.
struct Spread {
  explicit Spread(const FrozenTensor& tensor)
      : low(static_cast<float>(tensor.random_mean - tensor.random_std * std::sqrt(3.0))),
        width(static_cast<float>(2.0 * tensor.random_std * std::sqrt(3.0))) {}
  [[nodiscard]] float at(float draw) const { return low + width * draw; }
  float low;
  float width;
};

// Rounded once, like the other values.
template <class T>
void add_identity(T* values, const CounterStream& stream, const FrozenTensor& tensor) {
  const Spread spread(tensor);
  const std::int64_t in = tensor.shape.at(1);
  const std::int64_t taps = tensor.numel() / (tensor.shape.at(0) * in);
  const auto share = static_cast<float>(tensor.random_identity / static_cast<double>(taps));
  for (std::int64_t o = 0; o < tensor.shape.at(0); ++o) {
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const std::int64_t at = (o * in + o % in) * taps + tap;
      const float draw = stream.uniform(static_cast<std::uint64_t>(at));
      values[at] = static_cast<T>(spread.at(draw) + share);
    }
  }
}

template <class T>
void fill(at::Tensor& out, const CounterStream& stream, const FrozenTensor& tensor) {
  auto* values = out.mutable_data_ptr<T>();
  const Spread spread(tensor);
  const std::int64_t count = out.numel();
  const auto fill_pieces = [&](std::int64_t begin, std::int64_t stride) {
    std::vector<float> draws(kPiece);
    for (std::int64_t first = begin * kPiece; first < count; first += stride * kPiece) {
      const std::int64_t length = std::min(kPiece, count - first);
      stream.uniforms(draws.data(), length, static_cast<std::uint64_t>(first));
      for (std::int64_t i = 0; i < length; ++i) {
        values[first + i] = static_cast<T>(spread.at(draws[static_cast<std::size_t>(i)]));
      }
    }
  };
  // Threads of our own: at::parallel_for is serial in a program built without OpenMP.
  const std::int64_t pieces = (count + kPiece - 1) / kPiece;
  const std::int64_t workers = std::min<std::int64_t>(at::get_num_threads(), pieces);
  std::vector<std::jthread> others;
  for (std::int64_t i = 1; i < workers; ++i) others.emplace_back(fill_pieces, i, workers);
  fill_pieces(0, std::max<std::int64_t>(workers, 1));
  others.clear();
  if (tensor.random_identity != 0.0) add_identity(values, stream, tensor);
}

}  // namespace

at::Tensor random_frozen(const FrozenTensor& tensor, std::uint64_t seed, at::ScalarType type) {
  at::Tensor out = at::empty(tensor.shape, type);
  const CounterStream stream(seed, Purpose::kFrozenWeights,
                             fnv1a64(tensor.name.data(), tensor.name.size()));
  switch (type) {
    case at::kFloat:
      fill<float>(out, stream, tensor);
      break;
    case at::kDouble:
      fill<double>(out, stream, tensor);
      break;
    case at::kBFloat16:
      fill<c10::BFloat16>(out, stream, tensor);
      break;
    default:
      throw InvariantError("random frozen weights of a type other than bf16, fp32, fp64");
  }
  return out;
}

}  // namespace wam
