#include "core/train/pending_step.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>

#include "core/base/errors.h"

namespace wam {
namespace {

// What numbers_ holds, in this order; then the units and the tensors.
enum Number : std::size_t {
  kLoss,
  kVideoLoss,
  kActionLoss,
  kBadSamples,
  kGradNorm,
  kSkipped,
  kWaits,
  kUnits = kWaits + kNumWaitCauses
};

at::Tensor in_a_row(const PendingStep::Numbers& n) {
  return at::cat({n.losses, n.update.grad_norm.reshape({1}), n.update.skipped.reshape({1}),
                  n.wait_s, n.update.unit_square_sums, n.update.tensor_square_sums});
}

// dataset, episode, frame
using IdRow = std::array<double, 3>;

IdRow row_of(const SampleId& id) {
  return {static_cast<double>(id.dataset), static_cast<double>(id.episode),
          static_cast<double>(id.frame)};
}

std::string id_text(const double* row) {
  return window_name({static_cast<std::int32_t>(row[0]), static_cast<std::int64_t>(row[1]),
                      static_cast<std::int64_t>(row[2])});
}

// Sums over the ranks, for ids: each row is filled by one of them.
at::Tensor summed(const at::Tensor& host, Sharding& sharding) {
  at::Tensor all = host.to(sharding.units().front().placement().device);
  sharding.sum_over_ranks(all);
  return all.to(at::kCPU);
}

std::vector<std::string> id_texts(const at::Tensor& row_N3) {
  std::vector<std::string> out;
  for (std::int64_t i = 0; i < row_N3.size(0); ++i) {
    out.push_back(id_text(row_N3.const_data_ptr<double>() + 3 * i));
  }
  return out;
}

}  // namespace

std::string window_name(const SampleId& id) {
  return fmt::format("{}/{}/{}", id.dataset, id.episode, id.frame);
}

PendingStep::PendingStep(StepMetrics known,
                         StepSamples samples,
                         std::int64_t global_batch,
                         const Numbers& numbers,
                         StepSpan span)
    : known_(std::move(known)),
      samples_(std::move(samples)),
      global_batch_(global_batch),
      num_tensors_(numbers.update.tensor_square_sums.numel()),
      span_(std::move(span)),
      numbers_(in_a_row(numbers)) {}

StepMetrics PendingStep::metrics(const std::vector<Unit>& units) const {
  const auto* values = numbers_.get().const_data_ptr<double>();
  const auto samples = static_cast<double>(global_batch_);
  StepMetrics metrics = known_;
  metrics.loss = values[kLoss] / samples;
  metrics.video_loss = values[kVideoLoss] / samples;
  metrics.action_loss = values[kActionLoss] / samples;
  metrics.grad_norm = values[kGradNorm];
  metrics.skipped = values[kSkipped] != 0;
  metrics.times = span_.times(values + kWaits);
  const auto* first = values + kUnits;
  // What is no number counts as more than any.
  const auto* largest = std::max_element(first, first + units.size(), [](double a, double b) {
    return std::isnan(b) ? !std::isnan(a) : a < b;
  });
  metrics.largest_unit = units[static_cast<std::size_t>(largest - first)].spec().name;
  metrics.largest_unit_norm = std::sqrt(*largest);
  metrics.num_bad_samples = static_cast<std::int64_t>(values[kBadSamples]);
  for (const auto& bad : samples_.replaced) {
    metrics.bad_samples.push_back(window_name(bad.id));
  }
  if (!metrics.skipped) return metrics;
  for (const auto& sample : samples_.used) {
    metrics.samples.push_back(window_name(sample.id));
  }
  return metrics;
}

std::vector<std::string> PendingStep::samples(Sharding& sharding) const {
  // A row for each position in the batch, which one rank fills.
  at::Tensor host = at::zeros({global_batch_, 3}, at::kDouble);
  for (const auto& [ordinal, id] : samples_.used) {
    const auto position = ordinal % static_cast<std::uint64_t>(global_batch_);
    std::ranges::copy(row_of(id), host.mutable_data_ptr<double>() + 3 * position);
  }
  return id_texts(summed(host, sharding));
}

std::vector<std::string> PendingStep::replaced(Sharding& sharding) const {
  // How many at each position in the batch, so that every rank knows where its rows begin.
  at::Tensor count_B = at::zeros({global_batch_}, at::kDouble);
  const auto position_of = [&](const BadSample& bad) {
    return bad.ordinal % static_cast<std::uint64_t>(global_batch_);
  };
  for (const auto& bad : samples_.replaced) {
    count_B.mutable_data_ptr<double>()[position_of(bad)] += 1;
  }
  count_B = summed(count_B, sharding);
  std::vector<std::size_t> next{0};
  for (std::int64_t i = 0; i < global_batch_; ++i) {
    next.push_back(next.back() + static_cast<std::size_t>(count_B.const_data_ptr<double>()[i]));
  }
  at::Tensor host = at::zeros({static_cast<std::int64_t>(next.back()), 3}, at::kDouble);
  for (const auto& bad : samples_.replaced) {
    const std::size_t row = next[position_of(bad)]++;
    std::ranges::copy(row_of(bad.id), host.mutable_data_ptr<double>() + 3 * row);
  }
  return id_texts(summed(host, sharding));
}

at::Tensor PendingStep::tensor_square_sums() const {
  const at::Tensor& numbers = numbers_.get();
  return numbers.narrow(0, numbers.numel() - num_tensors_, num_tensors_);
}

}  // namespace wam
