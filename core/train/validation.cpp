#include "core/train/validation.h"

#include <algorithm>
#include <chrono>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>

#include <nlohmann/json.hpp>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"

namespace wam {
namespace {

using Json = nlohmann::ordered_json;

// Keeps validation's draws apart from training's under the same seed.
constexpr std::uint64_t kValidationSalt = 0x76616c6964617465;

// Sums of absolute errors by action dimension, in float64 on the CPU.
struct ErrorSums {
  at::Tensor absolute_A;
  at::Tensor count_A;

  void add(const at::Tensor& error_PA, const at::Tensor& mask_PA) {
    const at::Tensor mask = mask_PA.to(at::kDouble);
    const at::Tensor sums = (error_PA.abs() * mask).sum(0);
    absolute_A = absolute_A.defined() ? absolute_A + sums : sums;
    count_A = count_A.defined() ? count_A + mask.sum(0) : mask.sum(0);
  }
  [[nodiscard]] double mean() const {
    return absolute_A.sum().item<double>() / std::max(1.0, count_A.sum().item<double>());
  }
  [[nodiscard]] std::vector<double> per_dim() const {
    std::vector<double> out;
    for (std::int64_t a = 0; a < absolute_A.numel(); ++a) {
      const double n = count_A[a].item<double>();
      if (n > 0) out.push_back(absolute_A[a].item<double>() / n);
    }
    return out;
  }
};

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

// Mean absolute error of answering, in every place, the mean over all windows of that dimension.
double mean_action_error(const std::vector<Batch>& batches) {
  at::Tensor sum;
  at::Tensor count;
  for (const auto& batch : batches) {
    const at::Tensor mask = batch.action_mask_BPA.to(at::kDouble);
    const at::Tensor s = (batch.action_BPA.to(at::kDouble) * mask).sum(at::IntArrayRef{0, 1});
    sum = sum.defined() ? sum + s : s;
    count =
        count.defined() ? count + mask.sum(at::IntArrayRef{0, 1}) : mask.sum(at::IntArrayRef{0, 1});
  }
  const at::Tensor mean = sum / count.clamp_min(1.0);
  ErrorSums errors;
  for (const auto& batch : batches) {
    for (std::int64_t b = 0; b < batch.size(); ++b) {
      errors.add(batch.action_BPA[b].to(at::kDouble) - mean, batch.action_mask_BPA[b]);
    }
  }
  return errors.mean();
}

double action_error(const std::vector<Batch>& batches,
                    Model& model,
                    Sharding& sharding,
                    const ValidationOptions& options) {
  ErrorSums errors;
  for (const auto& batch : batches) {
    const Prediction prediction =
        model.predict(batch, sharding, options.seed ^ kValidationSalt, options.sampling_steps);
    const at::Tensor predicted = to_host(prediction.action_BPA);
    if (options.moved) options.moved();
    for (std::int64_t b = 0; b < batch.size(); ++b) {
      errors.add(predicted[b] - batch.action_BPA[b].to(at::kDouble), batch.action_mask_BPA[b]);
    }
  }
  return errors.mean();
}

// (P, A) float64 of differences in the first columns: one embodiment's values in the places that
// the model has for any.
at::Tensor padded(const at::Tensor& difference_PA, std::int64_t width) {
  at::Tensor out = at::zeros({difference_PA.size(0), width}, at::kDouble);
  out.narrow(1, 0, difference_PA.size(1)).copy_(difference_PA);
  return out;
}

Json window_json(const Dataset& data,
                 const Batch& batch,
                 std::int64_t b,
                 const at::Tensor& truth,
                 const at::Tensor& prediction) {
  const SampleId& id = batch.id[static_cast<std::size_t>(b)];
  return {{"id", {{"dataset", id.dataset}, {"episode", id.episode}, {"frame", id.frame}}},
          {"prompt", batch.prompt[static_cast<std::size_t>(b)]},
          {"names", data.action_meaning(id.dataset).names},
          {"truth", rows_of(truth)},
          {"prediction", rows_of(prediction)}};
}

}  // namespace

Validator::Validator(const Dataset& held_back,
                     const Collate& collate,
                     const ValidationOptions& options)
    : held_back_(held_back), options_(options) {
  const std::uint64_t available = held_back.size();
  require<DataError>(available > 0,
                     "choosing validation windows: the held-back episodes hold no complete window. "
                     "Fix: raise data.validation, or set validate.every: 0.");
  const auto count =
      std::min<std::uint64_t>(static_cast<std::uint64_t>(options.windows), available);
  std::vector<Sample> samples;
  for (std::uint64_t i = 0; i < count; ++i) {
    samples.push_back(
        held_back.load((2 * i + 1) * available / (2 * count), i, Transforms::kEvaluation));
  }
  const auto stride = static_cast<std::size_t>(std::max<std::int64_t>(1, options.micro_batch));
  for (std::size_t first = 0; first < samples.size(); first += stride) {
    const std::size_t last = std::min(samples.size(), first + stride);
    std::vector<Sample> part(samples.begin() + static_cast<std::ptrdiff_t>(first),
                             samples.begin() + static_cast<std::ptrdiff_t>(last));
    batches_.push_back(collate(part));
    if (!options.shuffled) continue;
    // Every window gets the pictures and the prompt of the one half the list further on.
    for (std::size_t i = first; i < last; ++i) {
      const Sample& other = samples[(i + samples.size() / 2) % samples.size()];
      part[i - first].image_THWC = other.image_THWC;
      part[i - first].prompt = other.prompt;
    }
    shuffled_.push_back(collate(part));
  }
}

std::int64_t Validator::windows() const {
  std::int64_t count = 0;
  for (const auto& batch : batches_) count += batch.size();
  return count;
}

ValidationMetrics Validator::run(Model& model,
                                 Sharding& sharding,
                                 std::int64_t step,
                                 const std::filesystem::path& run_folder) const {
  const auto start = std::chrono::steady_clock::now();
  const std::uint64_t seed = options_.seed ^ kValidationSalt;
  at::Tensor losses;
  ErrorSums normalised;
  ErrorSums physical;
  Json kept = Json::array();
  std::int64_t position = 0;
  for (const auto& batch : batches_) {
    const Losses part = model.evaluate(batch, sharding, seed);
    const at::Tensor pair =
        at::cat({part.video.reshape({1}), part.action.reshape({1})}).to(at::kDouble);
    losses = losses.defined() ? losses + pair : pair;
    const at::Tensor predicted =
        to_host(model.predict(batch, sharding, seed, options_.sampling_steps).action_BPA);
    if (options_.moved) options_.moved();
    for (std::int64_t b = 0; b < batch.size(); ++b) {
      const at::Tensor truth = batch.action_BPA[b].to(at::kDouble);
      const at::Tensor mask = batch.action_mask_BPA[b];
      normalised.add(predicted[b] - truth, mask);
      const auto dataset = batch.id[static_cast<std::size_t>(b)].dataset;
      const at::Tensor real_truth = held_back_.physical_actions(dataset, truth);
      const at::Tensor real_prediction = held_back_.physical_actions(dataset, predicted[b]);
      physical.add(padded(real_prediction - real_truth, mask.size(1)), mask);
      // Spread over all windows: neighbours in the list can be of one episode.
      const auto kept_so_far = static_cast<std::int64_t>(kept.size());
      if (position++ * options_.windows_kept / windows() >= kept_so_far) {
        kept.push_back(window_json(held_back_, batch, b, real_truth, real_prediction));
      }
    }
  }
  ValidationMetrics out;
  out.step = step;
  out.windows = windows();
  const at::Tensor host = to_host(losses);
  out.video_loss = host[0].item<double>() / static_cast<double>(out.windows);
  out.action_loss = host[1].item<double>() / static_cast<double>(out.windows);
  out.action_error = normalised.mean();
  out.mean_action_error = mean_action_error(batches_);
  if (options_.shuffled) out.shuffled_error = action_error(shuffled_, model, sharding, options_);
  out.action_names = held_back_.action_meaning(batches_.front().id.front().dataset).names;
  out.action_error_per_dim = normalised.per_dim();
  out.action_error_physical = physical.per_dim();
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (run_folder.empty()) return out;
  std::filesystem::create_directories(run_folder / "validation");
  write_file_atomically(run_folder / "validation" / fmt::format("step_{:08}.json", step),
                        Json{{"step", step}, {"windows", kept}}.dump());
  return out;
}

}  // namespace wam
