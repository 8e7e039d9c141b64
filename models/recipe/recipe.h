#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/names.h"
#include "core/recipe/field.h"
#include "core/recipe/problems.h"
#include "models/wam/config.h"
#include "models/wam/recompute.h"

// The recipe's words for the model and for what its backward keeps in memory.

namespace wam {

enum class ModelPreset { k5b, k14b, kTiny5b, kTiny14b };
template <>
struct EnumNames<ModelPreset> {
  static constexpr std::array table{std::pair{ModelPreset::k5b, std::string_view("5b")},
                                    std::pair{ModelPreset::k14b, std::string_view("14b")},
                                    std::pair{ModelPreset::kTiny5b, std::string_view("tiny-5b")},
                                    std::pair{ModelPreset::kTiny14b, std::string_view("tiny-14b")}};
};

enum class TrainedPart { kFull };
template <>
struct EnumNames<TrainedPart> {
  static constexpr std::array table{std::pair{TrainedPart::kFull, std::string_view("full")}};
};
template <>
struct PlannedNames<TrainedPart> {
  static constexpr std::array<std::string_view, 1> table{"lora"};
};

// Each is a path, `random` (seeded; for trials and benchmarks) or empty where model.init brings it.
struct ComponentSection {
  std::string dit;
  std::string text_encoder;
  std::string image_encoder;
  std::string vae;
  std::string tokenizer;

  template <class V>
  void fields(V&& v) {
    v("dit", dit,
      "Transformer of the Wan base model: a folder or file of safetensors. What the base lacks is "
      "freshly initialised and listed.");
    v("text_encoder", text_encoder, "UMT5 encoder: a safetensors file or folder, or random.");
    v("image_encoder", image_encoder,
      "CLIP vision tower: a safetensors file or folder, or random.");
    v("vae", vae, "Video VAE: a safetensors file or folder, or random.");
    v("tokenizer", tokenizer, "SentencePiece model file of the text encoder (tokenizer.model).");
  }
};

struct ModelSection {
  ModelPreset preset = ModelPreset::k5b;
  std::string init;
  ComponentSection components;
  TrainedPart train = TrainedPart::kFull;
  std::int64_t blocks = 4;
  std::optional<std::int64_t> view_height;
  std::optional<std::int64_t> view_width;
  std::optional<std::int64_t> target_height;
  std::optional<std::int64_t> target_width;
  std::optional<std::int64_t> layers;
  std::optional<std::int64_t> width;
  std::optional<std::int64_t> heads;
  std::optional<std::int64_t> feed_forward;

  template <class V>
  void fields(V&& v) {
    v("preset", preset,
      "Architecture. 5b: Wan2.2-TI2V-5B. 14b: Wan2.1-I2V-14B. tiny-5b, tiny-14b: the same in "
      "small, "
      "for trials on a CPU.");
    v("init", init,
      "Where the weights come from: a DreamZero folder (transformer, text encoder, image encoder "
      "and VAE), random (the transformer alone), or empty: all from model.components.");
    v("components", components, "Parts of the model, each a path or random.");
    v("train", train, "What is trained: full is every parameter of the transformer.");
    v("blocks", blocks,
      "Blocks of video and actions in one sample, K (number). A clip has 1 + 8 K frames with the "
      "shipped embodiments.",
      between(1, 64));
    v("view_height", view_height,
      "Height of one camera view after cropping (pixels). auto: 160 (5b), 176 (14b), 32 (tiny).",
      at_least(16));
    v("view_width", view_width,
      "Width of one camera view after cropping (pixels). auto: 320 (5b, 14b), 64 (tiny).",
      at_least(16));
    v("target_height", target_height,
      "Height of the canvas of all views when it enters the model (pixels). auto: 160 (5b), 352 "
      "(14b), 64 (tiny).",
      at_least(16));
    v("target_width", target_width,
      "Width of that canvas (pixels). auto: 320 (5b), 640 (14b), 128 (tiny).", at_least(16));
    v("layers", layers, "Transformer blocks, for trials (number). auto: as the preset has them.",
      at_least(1));
    v("width", width, "Model width, for trials (values). auto: as the preset has it.", at_least(1));
    v("heads", heads, "Attention heads, for trials (number). auto: as the preset has them.",
      at_least(1));
    v("feed_forward", feed_forward,
      "Feed-forward width, for trials (values). auto: as the preset has it.", at_least(1));
  }
};

struct MemorySection {
  RecomputePolicy recompute = RecomputePolicy::kFull;
  std::int64_t first_blocks = 0;
  RecomputePolicy first_recompute = RecomputePolicy::kFull;

  template <class V>
  void fields(V&& v) {
    v("recompute", recompute,
      "What backward computes again instead of keeping it, from fast to small. none: nothing. "
      "norms: norms, rotary embedding, GELU and residual sums (a few percent of the time). "
      "attention: also the products before attention and the first of the feed-forward. full: each "
      "block's whole forward (a third more work). The results are equal bit for bit.");
    v("first_blocks", first_blocks,
      "The first blocks of the transformer follow first_recompute instead, so that a model that "
      "almost fits keeps most of its speed (number).",
      at_least(0));
    v("first_recompute", first_recompute,
      "The policy of the first first_blocks blocks.");
  }

  [[nodiscard]] RecomputePlan plan() const {
    return {.policy = recompute,
            .first_blocks = first_blocks,
            .first_policy = first_recompute};
  }
};
// Problems: a policy for the first blocks without first blocks, more of them than there are.
void check(const MemorySection& section, std::int64_t layers, Problems& problems);

// ModelSection with nothing left to choose.
struct ResolvedModel {
  ModelSection options;  // every value as it will be used
  WamConfig config;      // actions_per_block is the preset's until an embodiment says it
  std::int64_t view_height = 0;
  std::int64_t view_width = 0;
};
// Problems: a component that neither its key nor model.init brings, a tokenizer that is random, a
// transformer that comes from two places, a path that is not there, sizes that do not fit.
ResolvedModel resolve(const ModelSection& section, Problems& problems);

// True when model.init names a folder (and not `random`).
bool init_is_folder(const ModelSection& section);

}  // namespace wam
