#include "core/train/pending_step.h"

#include <algorithm>
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
  kGradNorm,
  kSkipped,
  kWaits,
  kUnits = kWaits + kNumWaitCauses
};

at::Tensor in_a_row(const PendingStep::Numbers& n) {
  return at::cat({n.losses, n.update.grad_norm.reshape({1}), n.update.skipped.reshape({1}),
                  n.wait_s, n.update.unit_square_sums, n.update.tensor_square_sums});
}

std::string name_of(std::int64_t dataset, std::int64_t episode, std::int64_t frame) {
  return fmt::format("{}/{}/{}", dataset, episode, frame);
}

}  // namespace

PendingStep::PendingStep(StepMetrics known,
                         std::vector<StepSample> samples,
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
  if (!metrics.skipped) return metrics;
  for (const auto& [ordinal, id] : samples_) {
    metrics.samples.push_back(name_of(id.dataset, id.episode, id.frame));
  }
  return metrics;
}

std::vector<std::string> PendingStep::samples(Sharding& sharding) const {
  // A row for each position in the batch, which one rank fills.
  at::Tensor host = at::zeros({global_batch_, 3}, at::kDouble);
  auto* values = host.mutable_data_ptr<double>();
  for (const auto& [ordinal, id] : samples_) {
    auto* row = values + 3 * (ordinal % static_cast<std::uint64_t>(global_batch_));
    row[0] = id.dataset;
    row[1] = static_cast<double>(id.episode);
    row[2] = static_cast<double>(id.frame);
  }
  at::Tensor all = host.to(sharding.units().front().placement().device);
  sharding.sum_over_ranks(all);
  host = all.to(at::kCPU);
  std::vector<std::string> out;
  for (std::int64_t i = 0; i < global_batch_; ++i) {
    const auto* row = host.const_data_ptr<double>() + 3 * i;
    out.push_back(name_of(static_cast<std::int64_t>(row[0]), static_cast<std::int64_t>(row[1]),
                          static_cast<std::int64_t>(row[2])));
  }
  return out;
}

at::Tensor PendingStep::tensor_square_sums() const {
  const at::Tensor& numbers = numbers_.get();
  return numbers.narrow(0, numbers.numel() - num_tensors_, num_tensors_);
}

}  // namespace wam
