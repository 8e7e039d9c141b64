#include "test/unit/core/train/fake_training.h"

#include <cmath>
#include <fstream>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>

#include "core/base/errors.h"

namespace wam::test {
namespace {

constexpr std::int64_t kWidth = 6;

at::Tensor target(std::uint64_t ordinal) {
  return at::arange(kWidth, at::kFloat)
      .mul(0.37)
      .add(static_cast<double>(ordinal) * 1.31)
      .sin()
      .add(1);
}

}  // namespace

FakeModel::FakeModel()
    : units_{make_unit("stem", {{.name = "s", .shape = {3}}}),
             make_unit("unit",
                       {{.name = "w", .shape = {kWidth}},
                        {.name = "b", .shape = {1}, .decayed = false}})} {}

void FakeModel::initialise(const TensorSpec& /*tensor*/,
                           std::uint64_t /*seed*/,
                           at::Tensor out) const {
  out.zero_();
}

Losses FakeModel::train(const Batch& batch,
                        Sharding& sharding,
                        std::uint64_t /*seed*/,
                        double weight) {
  Unit& unit = sharding.acquire(1, Pass::kBackward);
  at::Tensor sum = at::zeros({}, at::kFloat);
  for (const auto ordinal : batch.ordinal) {
    on_sample(ordinal);
    const at::Tensor difference = unit.weight(0) - target(ordinal);
    sum = sum + difference.square().sum() + unit.weight(1).square().sum();
    unit.weight_gradient(0).add_(difference, 2 * weight);
    unit.weight_gradient(1).add_(unit.weight(1), 2 * weight);
    if (bad_ordinals.contains(ordinal)) {
      unit.weight_gradient(1).fill_(bad_gradient);
    }
  }
  sharding.gradient_complete(1);
  sharding.release(1, Pass::kBackward);
  return {.loss = sum, .video = sum * 0.5, .action = sum * 0.5};
}

Losses FakeModel::evaluate(const Batch& /*batch*/, Sharding& /*sharding*/, std::uint64_t /*seed*/) {
  throw InvariantError("the loop does not evaluate");
}

Prediction FakeModel::predict(const Batch& /*batch*/,
                              Sharding& /*sharding*/,
                              std::uint64_t /*seed*/,
                              std::int64_t /*steps*/) {
  throw InvariantError("the loop does not predict");
}

Batch FakeSource::next() {
  Batch batch;
  const std::int64_t last = std::min(global_, handed_out_ + micro_);
  for (; handed_out_ < last; ++handed_out_) {
    const std::uint64_t ordinal = at_ + static_cast<std::uint64_t>(handed_out_);
    batch.ordinal.push_back(ordinal);
    batch.id.push_back({.dataset = 0, .episode = 7, .frame = static_cast<std::int64_t>(ordinal)});
    const auto bad = replaced.find(ordinal);
    for (int i = 0; bad != replaced.end() && i < bad->second; ++i) {
      batch.replaced.push_back({ordinal, {0, 9, 100 + i}, "a torn frame"});
    }
  }
  if (handed_out_ == global_) {
    at_ += static_cast<std::uint64_t>(global_);
    handed_out_ = 0;
  }
  return batch;
}

FakeRun::FakeRun(const std::filesystem::path& folder,
                 std::int64_t global_batch,
                 std::int64_t micro_batch)
    : sharding(model.units(), ShardedUnits::Options{}),
      optimizer(sharding, {.weight_decay = 0.1, .clip_norm = 1.5}),
      source(global_batch, micro_batch),
      log_(folder / "log.txt") {
  options.steps = 6;
  options.global_batch = global_batch;
  options.run_folder = folder;
  options.schedule = {
      .kind = ScheduleKind::kCosine, .peak = 0.1, .warmup_steps = 1, .total_steps = 6};
}

LoopEnd FakeRun::run(std::int64_t first_step) {
  MetricsFile metrics(options.run_folder / "metrics.jsonl");
  const StopSignal signal;
  LocalStop local(signal);
  const LoopParts parts{.model = model,
                        .sharding = sharding,
                        .optimizer = optimizer,
                        .source = source,
                        .metrics = &metrics,
                        .log = log_.log(),
                        .stop = stop != nullptr ? *stop : local,
                        .clock = clock,
                        .observer = observer,
                        .validator = nullptr,
                        .bad_windows = &bad_windows,
                        .save =
                            [this](std::int64_t step) {
                              saved.push_back(step);
                              on_save();
                            },
                        .saving = saving,
                        .before_update = before_update};
  return run_loop(parts, options, first_step);
}

std::vector<std::string> FakeRun::lines() const {
  std::vector<std::string> out;
  std::ifstream in(options.run_folder / "metrics.jsonl");
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

std::vector<float> FakeRun::weights() {
  const at::Tensor& master = sharding.units()[1].state("master");
  const auto* values = master.const_data_ptr<float>();
  return {values, values + kWidth};
}

std::string FakeRun::state() {
  std::string out;
  for (const auto& [key, bytes] : state_bytes(sharding.units())) out += bytes;
  return out;
}

}  // namespace wam::test
