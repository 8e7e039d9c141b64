#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/ops/picture/raw_clip.h"

namespace wam {

// B batch · T pixel frame · H W row, column · C channel · N block of frames · S state value ·
// P action step (all blocks, N * actions per block) · A action value · M text token · D text width

// Where a sample comes from; for messages and for the order tests.
struct SampleId {
  std::int32_t dataset = 0;
  std::int64_t episode = 0;
  std::int64_t frame = 0;  // the window's start frame within the episode

  bool operator==(const SampleId&) const = default;
};

// What the frozen encoders make of the pictures of a batch or, without B, of a sample: all that a
// model reads of them. F Y X latent frame, row, column
struct EncodedPictures {
  at::Tensor latent_BCFYX;
  at::Tensor
      still_BCFYX;       // of the first frame and grey; undefined where the model does not read it
  at::Tensor image_BMD;  // tokens of the first frame
};

// A window that was drawn for a sample and left out: its content is bad.
struct BadSample {
  std::uint64_t ordinal = 0;
  SampleId id;
  std::string why;
};

// One window of an episode, on the CPU: vectors after all transforms, pictures before them.
struct Sample {
  SampleId id;
  std::uint64_t ordinal = 0;  // samples since the run began: the key of every draw (D7)
  RawClip clip;               // without views where there is `encoded`
  std::optional<EncodedPictures> encoded = {};
  at::Tensor state_NS;        // float32, normalised, zero-padded
  at::Tensor action_PA;       // float32, normalised to [-1, 1], zero-padded
  at::Tensor action_mask_PA;  // bool, true for real values
  bool has_real_action = true;
  std::string prompt;  // as handed to the tokenizer
  std::vector<BadSample> replaced =
      {};  // in whose place this one stands, in the order of the draws
};

// Samples of one shape, stacked. Pinned when the loader was told so.
struct Batch {
  std::vector<SampleId> id;
  std::vector<std::uint64_t> ordinal;
  at::Tensor
      image_BTHWC;  // uint8, the mosaics of all views; undefined where there is `raw` or `encoded`
  std::optional<RawClips> raw;                  // where pictures are transformed later
  std::optional<EncodedPictures> encoded = {};  // instead of pictures
  at::Tensor state_BNS;
  at::Tensor action_BPA;
  at::Tensor action_mask_BPA;
  at::Tensor has_real_action_B;  // bool
  std::vector<std::string> prompt;
  // Text embeddings: rows past text_length are zero; M is one of a few fixed lengths and stands for
  // the model's full text length (the model knows that the rows it does not see are zero).
  at::Tensor text_BMD;
  std::vector<std::int64_t> text_length;
  std::vector<BadSample> replaced = {};  // of all samples, in their order

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(ordinal.size()); }
};

}  // namespace wam
