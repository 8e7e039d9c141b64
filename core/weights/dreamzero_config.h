#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace wam {

// What a DreamZero config.json says about a model. Names are those of the file.
// Source: groot/vla/configs/model/dreamzero, groot/vla/model/dreamzero @ ab790c1.
struct DreamZeroModel {
  // diffusion_model_cfg
  std::string model_type;  // "i2v" (Wan2.1) or "ti2v" (Wan2.2)
  std::int64_t dim = 0;
  std::int64_t in_dim = 0;
  std::int64_t out_dim = 0;
  std::int64_t ffn_dim = 0;
  std::int64_t freq_dim = 256;
  std::int64_t num_heads = 0;
  std::int64_t num_layers = 0;
  double eps = 1e-6;
  std::int64_t frame_seqlen = 0;
  std::int64_t max_chunk_size = 4;
  std::int64_t num_frame_per_block = 2;
  std::int64_t num_action_per_block = 24;
  std::int64_t num_state_per_block = 1;
  bool concat_first_frame_latent = true;

  // action head
  std::int64_t num_frames = 33;
  std::int64_t action_horizon = 24;
  std::int64_t max_state_dim = 64;
  std::int64_t max_action_dim = 32;
  // Set for the 5B only: the official server takes them for the size of one view.
  std::optional<std::array<std::int64_t, 2>> target_video_size;  // height, width

  // vae_cfg: WanVideoVAE (16 channels), or WanVideoVAE38 where this is set.
  struct Vae38 {
    std::int64_t z_dim = 48;
    std::int64_t dim = 160;
  };
  std::optional<Vae38> vae38;

  std::string torch_dtype = "bfloat16";

  // Where a loader finds the encoders' own files; empty: null, it asks the hub.
  std::string text_encoder_pretrained_path;
  std::string image_encoder_pretrained_path;
  std::string vae_pretrained_path;
  std::string tokenizer_path = "google/umt5-xxl";

  std::string embodiment_tag;
  bool relative_action = false;
  std::vector<std::string> relative_action_keys;
};

// config.json, keys sorted, as the Hugging Face trainer writes them.
std::string dreamzero_config_json(const DreamZeroModel& model);

// What experiment_cfg/conf.yaml of an official training run tells the official policy server about
// one embodiment. Keys are without "video.", "state.", "action.".
struct DreamZeroEmbodiment {
  std::string tag;
  // Number of every tag that the tokenizing transform may meet, this one among them.
  std::map<std::string, std::int64_t> projector_index;
  std::vector<std::string> video_keys;
  std::vector<std::string> state_keys;
  std::vector<std::string> action_keys;
  std::vector<std::string> language_keys;  // in full, "annotation.…"
  std::string normalization = "q99";
  std::array<std::int64_t, 2> view_size{};  // height, width
  double crop_scale = 0.95;
  std::array<double, 4> color_jitter{0.3, 0.4, 0.5, 0.08};  // brightness contrast saturation hue
  std::int64_t video_indices = 25;                          // delta_indices 0 … this - 1
};

// A conf.yaml with what a server reads: model class, transforms and modalities of the embodiment,
// relative actions. The text is JSON, which YAML includes.
std::string dreamzero_conf_yaml(const DreamZeroModel& model, const DreamZeroEmbodiment& embodiment);

}  // namespace wam
