#include "core/weights/dreamzero_config.h"

#include <numeric>

#include <nlohmann/json.hpp>

#include "core/base/errors.h"

namespace wam {
namespace {

using Json = nlohmann::json;

constexpr const char* kTransformersVersion = "4.51.3";  // that DreamZero pins in pyproject.toml

std::string dreamzero(const char* name) {
  return std::string("groot.vla.model.dreamzero.") + name;
}
std::string transform(const char* name) {
  return std::string("groot.vla.data.transform.") + name;
}

Json path_or_null(const std::string& path) {
  return path.empty() ? Json(nullptr) : Json(path);
}

Json diffusion_model(const DreamZeroModel& m) {
  Json json{{"_target_", dreamzero("modules.wan_video_dit_action_casual_chunk.CausalWanModel")},
            {"_convert_", "object"},
            {"diffusion_model_pretrained_path", nullptr},
            {"model_type", m.model_type},
            {"frame_seqlen", m.frame_seqlen},
            {"dim", m.dim},
            {"in_dim", m.in_dim},
            {"out_dim", m.out_dim},
            {"ffn_dim", m.ffn_dim},
            {"freq_dim", m.freq_dim},
            {"eps", m.eps},
            {"num_heads", m.num_heads},
            {"num_layers", m.num_layers},
            {"max_chunk_size", m.max_chunk_size},
            {"num_frame_per_block", m.num_frame_per_block},
            {"num_action_per_block", m.num_action_per_block},
            {"num_state_per_block", m.num_state_per_block}};
  // The class default is true; the official i2v configuration leaves it out.
  if (!m.concat_first_frame_latent) json["concat_first_frame_latent"] = false;
  return json;
}

Json vae(const DreamZeroModel& m) {
  Json json{{"_target_", dreamzero("modules.wan_video_vae.WanVideoVAE")},
            {"_convert_", "object"},
            {"vae_pretrained_path", path_or_null(m.vae_pretrained_path)}};
  if (m.vae38) {
    json["_target_"] = dreamzero("modules.wan_video_vae.WanVideoVAE38");
    json["z_dim"] = m.vae38->z_dim;
    json["dim"] = m.vae38->dim;
  }
  return json;
}

// Values that the training of a full model does not read; readers want them, as the official
// configuration has them.
Json unread_values() {
  return {
      {"hidden_size", 64},
      {"input_embedding_dim", 1536},
      {"backbone_embedding_dim", 0},
      {"backbone_features_projector_cfg", nullptr},
      {"add_pos_embed", true},
      {"model_dtype", "float32"},
      {"repa_layer", 8},
      {"repa_coeff", 1.0},
      {"load_pretrained_det_decode_layer_path", nullptr},
      {"freeze_decode_layer", false},
      {"expand_batch", nullptr},
      {"use_vlln", true},
      {"vl_self_attention_cfg",
       {{"_target_", "groot.vla.model.n1_5.modules.cross_attention_dit.SelfAttentionTransformer"},
        {"positional_embeddings", nullptr},
        {"num_layers", 4},
        {"num_attention_heads", 24},
        {"attention_head_dim", 64},
        {"dropout", 0.2},
        {"final_dropout", true}}},
      {"action_loss_embodiment_ids", {26, 17, 32}},
      {"use_gradient_checkpointing", true},
      {"num_inference_timesteps", 4},
      {"noise_beta_alpha", 1.5},
      {"noise_beta_beta", 1.0},
      {"noise_s", 0.999},
      {"num_timestep_buckets", 1000},
      {"tune_projector", true},
      {"tune_diffusion_model", true},
      {"lora_rank", 4},
      {"lora_alpha", 4},
      {"lora_target_modules", "q,k,v,o,ffn.0,ffn.2"},
      {"init_lora_weights", "kaiming"},
      {"tiled", false},
      {"tile_size_height", 34},
      {"tile_size_width", 34},
      {"tile_stride_height", 18},
      {"tile_stride_width", 16}};
}

Json head_config(const DreamZeroModel& m) {
  const std::string head = dreamzero("action_head.wan_flow_matching_action_tf.WANPolicyHeadConfig");
  Json json = unread_values();
  json.update({{"_target_", head},
               {"_recursive_", false},
               {"num_frames", m.num_frames},
               {"num_frame_per_block", m.num_frame_per_block},
               {"max_state_dim", m.max_state_dim},
               {"max_action_dim", m.max_action_dim},
               {"action_dim", m.max_action_dim},
               {"action_horizon", m.action_horizon},
               {"train_architecture", "full"},
               {"skip_component_loading", true},
               {"defer_lora_injection", false},
               {"decouple_video_action_noise", false},
               {"use_high_noise_emphasis", false},
               {"high_noise_beta_alpha", 3.0},
               {"video_noise_beta_alpha", 3.0},
               {"video_noise_beta_beta", 1.0},
               {"decouple_inference_noise", false},
               {"video_inference_final_noise", 0.8},
               {"diffusion_model_cfg", diffusion_model(m)},
               {"vae_cfg", vae(m)}});
  json["text_encoder_cfg"] = {
      {"_target_", dreamzero("modules.wan_video_text_encoder.WanTextEncoder")},
      {"_convert_", "object"},
      {"text_encoder_pretrained_path", path_or_null(m.text_encoder_pretrained_path)}};
  json["image_encoder_cfg"] = {
      {"_target_", dreamzero("modules.wan_video_image_encoder.WanImageEncoder")},
      {"_convert_", "object"},
      {"image_encoder_pretrained_path", path_or_null(m.image_encoder_pretrained_path)}};
  if (m.target_video_size) {
    json["target_video_height"] = (*m.target_video_size)[0];
    json["target_video_width"] = (*m.target_video_size)[1];
  }
  return json;
}

std::vector<std::string> prefixed(const char* modality, const std::vector<std::string>& keys) {
  std::vector<std::string> out;
  for (const std::string& key : keys) out.push_back(std::string(modality) + "." + key);
  return out;
}

Json modality(std::int64_t count, const std::vector<std::string>& keys) {
  std::vector<std::int64_t> indices(static_cast<std::size_t>(count));
  std::iota(indices.begin(), indices.end(), 0);
  return {{"_target_", "groot.vla.data.dataset.ModalityConfig"},
          {"delta_indices", indices},
          {"modality_keys", keys}};
}

Json video_transforms(const DreamZeroEmbodiment& e) {
  const auto keys = prefixed("video", e.video_keys);
  return Json::array({{{"_target_", transform("VideoToTensor")}, {"apply_to", keys}},
                      {{"_target_", transform("VideoCrop")},
                       {"apply_to", keys},
                       {"scale", e.crop_scale},
                       {"mode", "random"}},
                      {{"_target_", transform("VideoResize")},
                       {"apply_to", keys},
                       {"height", e.view_size[0]},
                       {"width", e.view_size[1]},
                       {"interpolation", "linear"}},
                      {{"_target_", transform("VideoColorJitter")},
                       {"apply_to", keys},
                       {"brightness", e.color_jitter[0]},
                       {"contrast", e.color_jitter[1]},
                       {"saturation", e.color_jitter[2]},
                       {"hue", e.color_jitter[3]}},
                      {{"_target_", transform("VideoToNumpy")}, {"apply_to", keys}}});
}

void add_vector_transforms(Json& list,
                           const std::vector<std::string>& keys,
                           const std::string& normalization) {
  Json modes = Json::object();
  for (const std::string& key : keys) modes[key] = normalization;
  list.push_back({{"_target_", transform("StateActionToTensor")}, {"apply_to", keys}});
  list.push_back({{"_target_", transform("StateActionTransform")},
                  {"apply_to", keys},
                  {"normalization_modes", std::move(modes)}});
}

Json all_transforms(const DreamZeroModel& m, const DreamZeroEmbodiment& e) {
  const auto state = prefixed("state", e.state_keys);
  const auto action = prefixed("action", e.action_keys);
  Json list = video_transforms(e);
  add_vector_transforms(list, state, e.normalization);
  add_vector_transforms(list, action, e.normalization);
  list.push_back({{"_target_", transform("ConcatTransform")},
                  {"video_concat_order", prefixed("video", e.video_keys)},
                  {"state_concat_order", state},
                  {"action_concat_order", action}});
  list.push_back({{"_target_", dreamzero("transform.dreamzero_cotrain.DreamTransform")},
                  {"default_instruction", "Perform the default behavior."},
                  {"language_dropout_prob", 0.0},
                  {"always_use_default_instruction", false},
                  {"max_state_dim", m.max_state_dim},
                  {"max_action_dim", m.max_action_dim},
                  {"max_length", 512},
                  {"state_horizon", 1},
                  {"action_horizon", m.action_horizon},
                  {"embodiment_tag_mapping", e.projector_index},
                  {"tokenizer_path", m.tokenizer_path}});
  return {{"_target_", transform("ComposedModalityTransform")}, {"transforms", std::move(list)}};
}

}  // namespace

std::string dreamzero_config_json(const DreamZeroModel& m) {
  require<InvariantError>(m.model_type == "i2v" || m.model_type == "ti2v",
                          "a DreamZero model of type \"{}\"", m.model_type);
  Json json{{"architectures", {"VLA"}},
            {"model_type", "vla"},
            {"backbone_cfg", {{"_target_", dreamzero("backbone.identity.IdentityBackbone")}}},
            {"action_horizon", m.action_horizon},
            {"action_dim", m.max_action_dim},
            {"hidden_size", 0},
            {"model_dtype", "float32"},
            {"torch_dtype", m.torch_dtype},
            {"transformers_version", kTransformersVersion},
            {"num_action_per_block", m.num_action_per_block},
            {"tokenizer_path", m.tokenizer_path},
            {"relative_action", m.relative_action},
            {"relative_action_per_horizon", false},
            {"relative_action_keys", m.relative_action_keys}};
  if (!m.embodiment_tag.empty()) json["embodiment_tag"] = m.embodiment_tag;
  json["action_head_cfg"] = {
      {"_target_", dreamzero("action_head.wan_flow_matching_action_tf.WANPolicyHead")},
      {"_convert_", "object"},
      {"config", head_config(m)}};
  return json.dump(2) + "\n";
}

std::string dreamzero_conf_yaml(const DreamZeroModel& m, const DreamZeroEmbodiment& e) {
  Json video = modality(e.video_indices, prefixed("video", e.video_keys));
  video["eval_delta_indices"] = {0};
  const Json modalities{{"video", std::move(video)},
                        {"state", modality(1, prefixed("state", e.state_keys))},
                        {"action", modality(m.action_horizon, prefixed("action", e.action_keys))},
                        {"language", modality(1, e.language_keys)}};
  const Json json{{"model", {{"_target_", dreamzero("base_vla.VLA")}, {"_convert_", "object"}}},
                  {"save_lora_only", false},
                  {"eval_bf16", true},
                  {"relative_action", m.relative_action},
                  {"relative_action_per_horizon", false},
                  {"relative_action_keys", m.relative_action_keys},
                  {"transforms", {{e.tag, all_transforms(m, e)}}},
                  {"modality_configs", {{e.tag, modalities}}}};
  return json.dump(2) + "\n";
}

}  // namespace wam
