#include "apps/wamtrain/bench/step_inputs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "apps/wamtrain/bench/synthetic.h"
#include "apps/wamtrain/encoders.h"

namespace wam {
namespace {

class SyntheticSource final : public BatchSource {
 public:
  explicit SyntheticSource(const BenchContext& context)
      : global_batch_(context.recipe.train.options.global_batch / context.ranks.env().world_size) {
    const std::int64_t micro = context.recipe.train.options.micro_batch;
    for (std::int64_t first = 0; first < global_batch_; first += micro) {
      Batch batch =
          synthetic_batch(context.recipe.model.config, std::min(micro, global_batch_ - first),
                          context.text_rows(), static_cast<std::uint64_t>(first));
      if (context.device.is_cuda()) pin(batch);
      batches_.push_back(std::move(batch));
    }
  }

  Batch next() override {
    const Batch& batch = batches_[static_cast<std::size_t>(handed_out_ % micro_steps())];
    ++handed_out_;
    return batch;
  }
  [[nodiscard]] std::int64_t micro_steps() const override {
    return static_cast<std::int64_t>(batches_.size());
  }
  [[nodiscard]] std::uint64_t samples_consumed() const override {
    return static_cast<std::uint64_t>(handed_out_ / micro_steps() * global_batch_);
  }
  [[nodiscard]] std::uint64_t epoch_size() const override {
    return static_cast<std::uint64_t>(global_batch_);
  }

 private:
  static void pin(Batch& batch) {
    for (at::Tensor* tensor : {&batch.image_BTHWC, &batch.state_BNS, &batch.action_BPA,
                               &batch.action_mask_BPA, &batch.has_real_action_B, &batch.text_BMD}) {
      *tensor = tensor->pin_memory();
    }
  }

  std::int64_t global_batch_;
  std::vector<Batch> batches_;
  std::int64_t handed_out_ = 0;
};

// What encoders would give, without the work.
class StillEncoders final : public FrozenEncoders {
 public:
  explicit StillEncoders(const BenchContext& context)
      : values_(synthetic_encoded(context.recipe.model.config,
                                  context.recipe.train.options.micro_batch,
                                  context.text_rows(),
                                  context.device,
                                  context.type)) {}
  at::Tensor encode_video(const at::Tensor& video) override {
    return values_.latent_BCFYX.narrow(0, 0, video.size(0));
  }
  at::Tensor encode_first_frame(const at::Tensor& image, std::int64_t /*frames*/) override {
    return encode_video(image);
  }
  at::Tensor clip_features(const at::Tensor& image) override {
    return values_.clip_BMD.narrow(0, 0, image.size(0));
  }

 private:
  EncodedBatch values_;
};

}  // namespace

std::unique_ptr<BatchSource> make_synthetic_source(const BenchContext& context) {
  return std::make_unique<SyntheticSource>(context);
}

std::unique_ptr<FrozenEncoders> make_step_encoders(const BenchContext& context) {
  if (!context.encodes()) return std::make_unique<StillEncoders>(context);
  return load_encoders(context.recipe, {.device = context.device, .type = context.type},
                       context.log);
}

}  // namespace wam
