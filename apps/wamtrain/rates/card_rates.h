#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/recipe/field.h"
#include "core/train/recipe.h"
#include "models/wam/recompute.h"

// What was measured of one kind of card: configs/rates/<card>.yaml, written by `wamtrain bench
// --save`, read by `wamtrain plan --gpus`.

namespace wam {

struct Rate {
  double value = 0;         // 0: not known
  bool assumed = false;     // not measured on this card
  std::string source = {};  // the command and its commit, a file of docs/benchmarks, or a reason

  template <class V>
  void fields(V&& v) {
    v("value", value, "The number; 0: not known.", at_least(0));
    v("assumed", assumed, "It was not measured on this card.");
    v("source", source, "Where it comes from: a file, or a command and its commit.");
  }
};

// Forward and backward of one micro-batch on one GPU, text at its full length.
struct MicroStepRate {
  std::string model;         // the preset
  double forward_tflop = 0;  // of one sample, as models/wam/flops.h counts: tells sizes apart
  std::int64_t micro_batch = 1;
  RecomputePolicy recompute = RecomputePolicy::kNone;
  std::int64_t first_blocks = 0;
  RecomputePolicy first_recompute = RecomputePolicy::kFull;
  ComputeType compute = ComputeType::kBf16;
  double ms = 0;
  double forward_ms = 0;  // of it, the forward alone
  std::string source = {};

  [[nodiscard]] RecomputePlan plan() const {
    return {.policy = recompute, .first_blocks = first_blocks, .first_policy = first_recompute};
  }

  template <class V>
  void fields(V&& v) {
    v("model", model, "The preset.");
    v("forward_tflop", forward_tflop, "Work of one sample's forward (TFLOP).", above(0));
    v("micro_batch", micro_batch, "Samples at once.", at_least(1));
    v("recompute", recompute, "The policy.");
    v("first_blocks", first_blocks, "Blocks that follow first_recompute.", at_least(0));
    v("first_recompute", first_recompute, "Their policy.");
    v("compute", compute, "Type of weights and activations.");
    v("ms", ms, "Forward and backward (ms).", above(0));
    v("forward_ms", forward_ms, "The forward alone (ms).", above(0));
    v("source", source, "Where it comes from: a file, or a command and its commit.");
  }
};

// The frozen encoders on one call's clips. 0: not measured, or the model has no such pass.
struct EncoderRate {
  std::string model;
  double clip_megapixels = 0;  // frames x height x width
  std::int64_t clips = 1;
  double video_ms = 0;
  double first_frame_ms = 0;
  double image_ms = 0;
  std::string source = {};

  template <class V>
  void fields(V&& v) {
    v("model", model, "The preset.");
    v("clip_megapixels", clip_megapixels, "Size of a clip (1e6 pixels of all frames).", above(0));
    v("clips", clips, "Clips at once.", at_least(1));
    v("video_ms", video_ms, "Video VAE (ms).", at_least(0));
    v("first_frame_ms", first_frame_ms, "Video VAE on a first frame (ms).", at_least(0));
    v("image_ms", image_ms, "Image encoder (ms).", at_least(0));
    v("source", source, "Where it comes from: a file, or a command and its commit.");
  }
};

struct CardRates {
  std::string card;  // as the driver calls it, with its memory
  double memory_gib = 0;
  Rate matmul_tflops;
  Rate copy_tb_s;
  Rate optimizer_tb_s;
  Rate all_gather_gb_s;
  Rate reduce_scatter_gb_s;
  Rate all_reduce_gb_s;
  Rate overlap_cost;
  Rate hop_us;
  Rate node_hop_us;
  Rate host_link_gb_s;
  Rate host_optimizer_gb_s;
  std::vector<MicroStepRate> micro_steps;
  std::vector<EncoderRate> encoders;

  template <class V>
  void fields(V&& v) {
    v("card", card, "The card, as the driver calls it.");
    v("memory_gib", memory_gib, "Its memory (GiB).", above(0));
    v("matmul_tflops", matmul_tflops, "bf16 matrix product, sustained (TFLOP/s).");
    v("copy_tb_s", copy_tb_s, "Copies of device memory, read and written (TB/s).");
    v("optimizer_tb_s", optimizer_tb_s, "AdamW at 30 bytes a parameter, gradient norm included.");
    v("all_gather_gb_s", all_gather_gb_s,
      "Inside a node, bytes that a GPU sends: (n - 1)/n of the buffer (GB/s).");
    v("reduce_scatter_gb_s", reduce_scatter_gb_s, "The same for a reduce-scatter (GB/s).");
    v("all_reduce_gb_s", all_reduce_gb_s,
      "The same for an all-reduce, which sends 2 (n - 1)/n of the buffer (GB/s).");
    v("overlap_cost", overlap_cost,
      "Seconds of compute lost to a second of collectives beneath it (no unit).");
    v("hop_us", hop_us, "From one rank of a ring to the next, inside a node (us).");
    v("node_hop_us", node_hop_us, "The same between nodes (us).");
    v("host_link_gb_s", host_link_gb_s, "Pinned host memory to or from one GPU (GB/s).");
    v("host_optimizer_gb_s", host_optimizer_gb_s,
      "AdamW in host memory at 30 bytes a parameter, one node (GB/s).");
    v("micro_steps", micro_steps, "Forward and backward, by case.");
    v("encoders", encoders, "Frozen encoders, by case.");
  }
};

// Errors: ConfigError that lists what is wrong with the file, or that there is none.
CardRates load_rates(const std::filesystem::path& file);
// Canonical YAML. Errors: DeviceError.
void save_rates(const CardRates& rates, const std::filesystem::path& file);

// Puts a case in the place of an equal one, or behind the others. Equal is all but times and
// source.
void put(CardRates& rates, const MicroStepRate& measured);
void put(CardRates& rates, const EncoderRate& measured);

// "NVIDIA H200, 140 GiB" -> "h200.yaml".
std::string rates_file_name(const std::string& card);

}  // namespace wam
