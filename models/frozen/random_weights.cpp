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
template <class T>
void fill(at::Tensor& out, const CounterStream& stream, double mean, double std) {
  auto* values = out.mutable_data_ptr<T>();
  const auto low = static_cast<float>(mean - std * std::sqrt(3.0));
  const auto width = static_cast<float>(2.0 * std * std::sqrt(3.0));
  const std::int64_t count = out.numel();
  const auto fill_pieces = [&](std::int64_t begin, std::int64_t stride) {
    std::vector<float> draws(kPiece);
    for (std::int64_t first = begin * kPiece; first < count; first += stride * kPiece) {
      const std::int64_t length = std::min(kPiece, count - first);
      stream.uniforms(draws.data(), length, static_cast<std::uint64_t>(first));
      for (std::int64_t i = 0; i < length; ++i) {
        values[first + i] = static_cast<T>(low + width * draws[static_cast<std::size_t>(i)]);
      }
    }
  };
  // Threads of our own: at::parallel_for is serial in a program built without OpenMP.
  const std::int64_t pieces = (count + kPiece - 1) / kPiece;
  const std::int64_t workers = std::min<std::int64_t>(at::get_num_threads(), pieces);
  std::vector<std::jthread> others;
  for (std::int64_t i = 1; i < workers; ++i) others.emplace_back(fill_pieces, i, workers);
  fill_pieces(0, std::max<std::int64_t>(workers, 1));
}

}  // namespace

at::Tensor random_frozen(const FrozenTensor& tensor, std::uint64_t seed, at::ScalarType type) {
  at::Tensor out = at::empty(tensor.shape, type);
  const CounterStream stream(seed, Purpose::kFrozenWeights,
                             fnv1a64(tensor.name.data(), tensor.name.size()));
  switch (type) {
    case at::kFloat:
      fill<float>(out, stream, tensor.random_mean, tensor.random_std);
      break;
    case at::kDouble:
      fill<double>(out, stream, tensor.random_mean, tensor.random_std);
      break;
    case at::kBFloat16:
      fill<c10::BFloat16>(out, stream, tensor.random_mean, tensor.random_std);
      break;
    default:
      throw InvariantError("random frozen weights of a type other than bf16, fp32, fp64");
  }
  return out;
}

}  // namespace wam
