#include "core/train/validation.h"

#include <algorithm>
#include <chrono>

#include <ATen/TensorOperators.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <nlohmann/json.hpp>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "core/train/error_sums.h"

namespace wam {
namespace {

using Json = nlohmann::ordered_json;

// Keeps validation's draws apart from training's under the same seed.
constexpr std::uint64_t kValidationSalt = 0x76616c6964617465;

at::Tensor to_host(const at::Tensor& values) {
  return values.to(at::kCPU, at::kDouble);
}

std::vector<std::vector<double>> rows_of(const at::Tensor& values_PA) {
  const at::Tensor v = to_host(values_PA).contiguous();
  const auto* data = v.const_data_ptr<double>();
  std::vector<std::vector<double>> rows;
  for (std::int64_t p = 0; p < v.size(0); ++p) {
    rows.emplace_back(data + p * v.size(1), data + (p + 1) * v.size(1));
  }
  return rows;
}

Json window_json(const Dataset& data, const Sample& sample, const at::Tensor& prediction_PA) {
  const SampleId& id = sample.id;
  return {{"id", {{"dataset", id.dataset}, {"episode", id.episode}, {"frame", id.frame}}},
          {"prompt", sample.prompt},
          {"names", data.action_meaning(id.dataset).names},
          {"truth", rows_of(data.physical_actions(id.dataset, to_host(sample.action_PA)))},
          {"prediction", rows_of(data.physical_actions(id.dataset, prediction_PA))}};
}

// `count` positions, spread over all: neighbours in the list can be of one episode.
std::vector<std::int64_t> spread(std::int64_t count, std::int64_t all) {
  std::vector<std::int64_t> out;
  for (std::int64_t position = 0; position < all; ++position) {
    if (position * count / all >= static_cast<std::int64_t>(out.size())) out.push_back(position);
  }
  return out;
}

// Mean absolute error of answering, in every place, the mean over all windows of that value.
ErrorSums mean_action_errors(const std::vector<Batch>& batches,
                             std::int64_t width,
                             Sharding& sharding,
                             c10::Device device) {
  at::Tensor sum_A = at::zeros({width}, at::kDouble);
  at::Tensor count_A = at::zeros({width}, at::kDouble);
  for (const auto& batch : batches) {
    if (batch.size() == 0) continue;
    const at::Tensor mask = batch.action_mask_BPA.to(at::kDouble);
    sum_A += (batch.action_BPA.to(at::kDouble) * mask).sum(at::IntArrayRef{0, 1});
    count_A += mask.sum(at::IntArrayRef{0, 1});
  }
  sum_over_ranks(sharding, device, {sum_A, count_A});
  const at::Tensor mean_A = sum_A / count_A.clamp_min(1.0);
  ErrorSums errors(width);
  for (const auto& batch : batches) {
    for (std::int64_t b = 0; b < batch.size(); ++b) {
      errors.add(batch.action_BPA[b].to(at::kDouble) - mean_A, batch.action_mask_BPA[b]);
    }
  }
  return errors;
}

}  // namespace

// What the ranks add up.
struct Validator::Sums {
  Sums(const std::vector<std::int64_t>& shape_PA, std::int64_t kept)
      : normalised(shape_PA[1]),
        physical(shape_PA[1]),
        shuffled(shape_PA[1]),
        kept_KPA(at::zeros({kept, shape_PA[0], shape_PA[1]}, at::kDouble)) {}

  at::Tensor losses;  // video, action; on the device until they are added
  ErrorSums normalised;
  ErrorSums physical;
  ErrorSums shuffled;
  at::Tensor kept_KPA;  // predictions of the windows kept, each from the rank that has it
};

Validator::Validator(const Dataset& held_back,
                     const Collate& collate,
                     const ValidationOptions& options)
    : held_back_(held_back), options_(options) {
  const std::uint64_t available = held_back.size();
  require<DataError>(available > 0,
                     "choosing validation windows: the held-back episodes hold no complete window. "
                     "Fix: raise data.validation, or set validate.every: 0.");
  windows_ = static_cast<std::int64_t>(
      std::min<std::uint64_t>(static_cast<std::uint64_t>(options.windows), available));
  kept_ = spread(options.windows_kept, windows_);
  std::vector<Sample> own;
  for (std::int64_t i = options.rank; i < windows_; i += options.world) own.push_back(load(i));
  const auto loaded = [&](std::int64_t position) {
    return position % options.world == options.rank
               ? own[static_cast<std::size_t>(position / options.world)]
               : load(position);
  };
  for (const Sample& sample : own) {
    replaced_.insert(replaced_.end(), sample.replaced.begin(), sample.replaced.end());
  }
  shape_PA_ = (own.empty() ? load(0) : own.front()).action_PA.sizes().vec();
  for (const std::int64_t position : kept_) {
    if (options.rank != 0) break;
    kept_samples_.push_back(loaded(position));
    kept_samples_.back().clip = {};
    kept_samples_.back().encoded.reset();
  }
  batches_ = batches_of(own, collate);
  if (!options.shuffled) return;
  // Every window gets the pictures and the prompt of the one half the list further on.
  std::vector<Sample> exchanged = own;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const auto position = options.rank + static_cast<std::int64_t>(i) * options.world;
    const Sample other = loaded((position + windows_ / 2) % windows_);
    exchanged[i].clip = other.clip;
    exchanged[i].encoded = other.encoded;
    exchanged[i].prompt = other.prompt;
  }
  shuffled_ = batches_of(exchanged, collate);
}

Sample Validator::load(std::int64_t position) const {
  const auto i = static_cast<std::uint64_t>(position);
  const auto count = static_cast<std::uint64_t>(windows_);
  return held_back_.load((2 * i + 1) * held_back_.size() / (2 * count), i, Transforms::kEvaluation);
}

std::vector<Batch> Validator::batches_of(const std::vector<Sample>& samples,
                                         const Collate& collate) const {
  const std::int64_t most = (windows_ + options_.world - 1) / options_.world;
  const std::int64_t stride = std::max<std::int64_t>(1, options_.micro_batch);
  std::vector<Batch> batches;
  for (std::int64_t first = 0; first < most; first += stride) {
    const auto size = static_cast<std::int64_t>(samples.size());
    const auto begin = samples.begin() + std::min(first, size);
    const std::vector<Sample> part(begin, samples.begin() + std::min(first + stride, size));
    batches.push_back(part.empty() ? Batch() : collate(part));
  }
  return batches;
}

void Validator::score(Model& model, Sharding& sharding, Sums& sums) const {
  const std::uint64_t seed = options_.seed ^ kValidationSalt;
  std::int64_t position = options_.rank;
  for (const auto& batch : batches_) {
    const Losses part = model.evaluate(batch, sharding, seed);
    const at::Tensor pair = at::stack({part.video, part.action}).to(at::kDouble);
    sums.losses = sums.losses.defined() ? sums.losses + pair : pair;
    const Prediction prediction = model.predict(batch, sharding, seed, options_.sampling_steps);
    if (options_.moved) options_.moved();
    if (batch.size() == 0) continue;
    const at::Tensor predicted = to_host(prediction.action_BPA);
    for (std::int64_t b = 0; b < batch.size(); ++b, position += options_.world) {
      const at::Tensor truth = batch.action_BPA[b].to(at::kDouble);
      const at::Tensor mask = batch.action_mask_BPA[b];
      sums.normalised.add(predicted[b] - truth, mask);
      const auto dataset = batch.id[static_cast<std::size_t>(b)].dataset;
      sums.physical.add(held_back_.physical_actions(dataset, predicted[b]) -
                            held_back_.physical_actions(dataset, truth),
                        mask);
      const auto kept = std::find(kept_.begin(), kept_.end(), position);
      if (kept != kept_.end()) sums.kept_KPA[kept - kept_.begin()].copy_(predicted[b]);
    }
  }
}

void Validator::score_shuffled(Model& model, Sharding& sharding, Sums& sums) const {
  for (const auto& batch : shuffled_) {
    const Prediction prediction =
        model.predict(batch, sharding, options_.seed ^ kValidationSalt, options_.sampling_steps);
    if (options_.moved) options_.moved();
    if (batch.size() == 0) continue;
    const at::Tensor predicted = to_host(prediction.action_BPA);
    for (std::int64_t b = 0; b < batch.size(); ++b) {
      sums.shuffled.add(predicted[b] - batch.action_BPA[b].to(at::kDouble),
                        batch.action_mask_BPA[b]);
    }
  }
}

ValidationMetrics Validator::run(Model& model,
                                 Sharding& sharding,
                                 std::int64_t step,
                                 const std::filesystem::path& run_folder) const {
  const auto start = std::chrono::steady_clock::now();
  Sums sums(shape_PA_, static_cast<std::int64_t>(kept_.size()));
  score(model, sharding, sums);
  score_shuffled(model, sharding, sums);
  const c10::Device device = sums.losses.device();
  ErrorSums of_mean = mean_action_errors(batches_, shape_PA_[1], sharding, device);
  sums.losses = to_host(sums.losses);
  sum_over_ranks(sharding, device,
                 {sums.losses, sums.normalised.absolute_A, sums.normalised.count_A,
                  sums.physical.absolute_A, sums.physical.count_A, sums.shuffled.absolute_A,
                  sums.shuffled.count_A, of_mean.absolute_A, of_mean.count_A, sums.kept_KPA});
  ValidationMetrics out;
  out.step = step;
  out.windows = windows_;
  out.video_loss = sums.losses[0].item<double>() / static_cast<double>(windows_);
  out.action_loss = sums.losses[1].item<double>() / static_cast<double>(windows_);
  out.action_error = sums.normalised.mean();
  out.mean_action_error = of_mean.mean();
  if (options_.shuffled) out.shuffled_error = sums.shuffled.mean();
  const auto first = held_back_.size() / (2 * static_cast<std::uint64_t>(windows_));
  out.action_names = held_back_.action_meaning(held_back_.identify(first).dataset).names;
  out.action_error_per_dim = sums.normalised.per_dim();
  out.action_error_physical = sums.physical.per_dim();
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!run_folder.empty()) write_kept(sums, step, run_folder);
  return out;
}

void Validator::write_kept(const Sums& sums,
                           std::int64_t step,
                           const std::filesystem::path& folder) const {
  Json kept = Json::array();
  for (std::size_t k = 0; k < kept_samples_.size(); ++k) {
    kept.push_back(
        window_json(held_back_, kept_samples_[k], sums.kept_KPA[static_cast<std::int64_t>(k)]));
  }
  std::filesystem::create_directories(folder / "validation");
  write_file_atomically(folder / "validation" / fmt::format("step_{:08}.json", step),
                        Json{{"step", step}, {"windows", kept}}.dump());
}

}  // namespace wam
