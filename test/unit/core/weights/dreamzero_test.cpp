#include <nlohmann/json.hpp>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "core/weights/dreamzero_config.h"
#include "core/weights/dreamzero_folder.h"
#include "core/weights/weights_load.h"
#include "test/support/temp_folder.h"
#include "test/unit/core/weights/weights_support.h"

namespace wam {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using test::ramp;

DreamZeroModel model_5b() {
  DreamZeroModel m;
  m.model_type = "ti2v";
  m.dim = 3072;
  m.in_dim = 48;
  m.out_dim = 48;
  m.ffn_dim = 14336;
  m.num_heads = 24;
  m.num_layers = 30;
  m.frame_seqlen = 50;
  m.concat_first_frame_latent = false;
  m.target_video_size = {160, 320};
  m.vae38 = DreamZeroModel::Vae38{};
  m.embodiment_tag = "oxe_droid";
  m.relative_action = true;
  m.relative_action_keys = {"joint_position"};
  return m;
}

DreamZeroModel model_14b() {
  DreamZeroModel m;
  m.model_type = "i2v";
  m.dim = 5120;
  m.in_dim = 36;
  m.out_dim = 16;
  m.ffn_dim = 13824;
  m.num_heads = 40;
  m.num_layers = 40;
  m.frame_seqlen = 880;
  return m;
}

TEST_CASE("config.json names the classes and sizes that DreamZero builds the 5B from") {
  const Json config = Json::parse(dreamzero_config_json(model_5b()));

  CHECK(config["architectures"] == Json{"VLA"});
  CHECK(config["model_type"] == "vla");
  CHECK(config["backbone_cfg"]["_target_"] ==
        "groot.vla.model.dreamzero.backbone.identity.IdentityBackbone");
  const Json& head_cfg = config["action_head_cfg"];
  CHECK(head_cfg["_target_"] ==
        "groot.vla.model.dreamzero.action_head.wan_flow_matching_action_tf.WANPolicyHead");
  const Json& head = head_cfg["config"];
  CHECK(head["_target_"] ==
        "groot.vla.model.dreamzero.action_head.wan_flow_matching_action_tf.WANPolicyHeadConfig");
  CHECK(head["_recursive_"] == false);
  CHECK(head["num_frames"] == 33);
  CHECK(head["action_dim"] == 32);
  CHECK(head["max_state_dim"] == 64);
  CHECK(head["target_video_height"] == 160);
  CHECK(head["train_architecture"] == "full");
  CHECK(head["skip_component_loading"] == true);
  CHECK(head["vae_cfg"]["_target_"] ==
        "groot.vla.model.dreamzero.modules.wan_video_vae.WanVideoVAE38");
  CHECK(head["vae_cfg"]["z_dim"] == 48);
  CHECK(head["text_encoder_cfg"]["text_encoder_pretrained_path"].is_null());
  const Json& dit = head["diffusion_model_cfg"];
  CHECK(dit["_target_"] ==
        "groot.vla.model.dreamzero.modules.wan_video_dit_action_casual_chunk.CausalWanModel");
  CHECK(dit["dim"] == 3072);
  CHECK(dit["eps"] == 1e-6);
  CHECK(dit["concat_first_frame_latent"] == false);
  CHECK(dit["frame_seqlen"] == 50);
  CHECK(config["embodiment_tag"] == "oxe_droid");
}

TEST_CASE("config.json of the 14B leaves out what its class has as default") {
  const Json config = Json::parse(dreamzero_config_json(model_14b()));
  const Json& head = config["action_head_cfg"]["config"];
  CHECK(head["vae_cfg"]["_target_"] ==
        "groot.vla.model.dreamzero.modules.wan_video_vae.WanVideoVAE");
  CHECK_FALSE(head["vae_cfg"].contains("z_dim"));
  CHECK_FALSE(head.contains("target_video_height"));
  CHECK_FALSE(head["diffusion_model_cfg"].contains("concat_first_frame_latent"));
  CHECK_FALSE(config.contains("embodiment_tag"));
  DreamZeroModel other = model_14b();
  other.model_type = "t2v";
  CHECK_THROWS_AS(dreamzero_config_json(other), InvariantError);
}

TEST_CASE("conf.yaml tells the policy server the model class, transforms and modalities") {
  DreamZeroEmbodiment e;
  e.tag = "oxe_droid";
  e.projector_index = {{"oxe_droid", 17}};
  e.video_keys = {"exterior_image_1_left", "wrist_image_left"};
  e.state_keys = {"joint_position", "gripper_position"};
  e.action_keys = {"joint_position"};
  e.language_keys = {"annotation.language.language_instruction"};
  e.view_size = {160, 320};

  const Json conf = Json::parse(dreamzero_conf_yaml(model_5b(), e));

  CHECK(conf["model"]["_target_"] == "groot.vla.model.dreamzero.base_vla.VLA");
  CHECK(conf["save_lora_only"] == false);
  CHECK(conf["eval_bf16"] == true);
  CHECK(conf["relative_action_keys"] == Json{"joint_position"});
  const Json& list = conf["transforms"]["oxe_droid"]["transforms"];
  REQUIRE(list.size() == 11);
  CHECK(list[1]["_target_"] == "groot.vla.data.transform.VideoCrop");
  CHECK(list[2]["height"] == 160);
  CHECK(list[6]["normalization_modes"]["state.gripper_position"] == "q99");
  CHECK(list[10]["embodiment_tag_mapping"]["oxe_droid"] == 17);
  const Json& video = conf["modality_configs"]["oxe_droid"]["video"];
  CHECK(video["eval_delta_indices"] == Json{0});
  CHECK(video["delta_indices"].size() == 25);
  CHECK(video["modality_keys"][1] == "video.wrist_image_left");
}

// ---- export, import, export ----------------------------------------------------------------

std::vector<Unit> make_units() {
  std::vector<Unit> units;
  units.emplace_back(make_unit("stem", {{.name = "patch.weight", .shape = {7, 3, 1, 2, 2}},
                                        {.name = "patch.bias", .shape = {7}}}),
                     UnitPlacement{});
  units.emplace_back(make_unit("blocks.0", {{.name = "blocks.0.w", .shape = {43, 11}}}),
                     UnitPlacement{});
  for (Unit& unit : units) {
    unit.allocate_state();
    unit.allocate_compute();
  }
  return units;
}

// The trained tensors from their units, the frozen ones streamed from `frozen`.
std::vector<TensorSource> sources_of(std::vector<Unit>& units, const WeightsSource& frozen) {
  std::vector<TensorSource> out;
  for (Unit& unit : units) {
    for (const TensorSpec& t : unit.spec().tensors) {
      out.push_back({kDitPrefix + t.name, t.shape, [&unit, t] {
                       return unit.state("master").narrow(0, t.offset, t.numel()).view(t.shape);
                     }});
    }
  }
  for (const auto& [name, view] : frozen.tensors()) {
    if (name.starts_with(kDitPrefix)) continue;
    const TensorView* mapped = view;
    out.push_back({name, view->shape, [mapped] { return map_tensor(*mapped); }});
  }
  return out;
}

std::map<std::string, std::string> contents_of(const fs::path& folder) {
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      out[fs::relative(entry.path(), folder).string()] = read_file(entry.path());
    }
  }
  return out;
}

TEST_CASE("Exported, imported and exported again: the same bytes") {
  for (const at::ScalarType type : {at::kBFloat16, at::kFloat}) {
    const test::TempFolder temp;
    test::write_tensors(temp.path() / "vae.safetensors",
                        {{std::string(kVaePrefix) + "conv1.weight", ramp({3, 2}, 50)},
                         {std::string(kImageEncoderPrefix) + "log_scale", ramp({1}, 8)}});
    const WeightsSource frozen(temp.path() / "vae.safetensors");
    auto units = make_units();
    for (Unit& unit : units) unit.state("master").copy_(ramp({unit.shard().numel()}, 100));
    DreamZeroFolder contents{.config_json = dreamzero_config_json(model_5b()),
                             .metadata_json = "{\"oxe_droid\": {}}\n",
                             .conf_yaml = "{}\n",
                             .tensors = sources_of(units, frozen)};
    const WeightsWriterOptions options{.type = type, .shard_bytes = 600};
    write_dreamzero_folder(temp.path() / "first", contents, options);

    const WeightsSource imported(temp.path() / "first");
    auto again = make_units();
    load_units(imported, kDitPrefix, again, Strictness::kStrict);
    contents.config_json = read_dreamzero_config(temp.path() / "first");
    contents.metadata_json = read_file(temp.path() / "first" / "experiment_cfg" / "metadata.json");
    contents.tensors = sources_of(again, imported);
    write_dreamzero_folder(temp.path() / "second", contents, options);

    const auto first = contents_of(temp.path() / "first");
    CHECK(first == contents_of(temp.path() / "second"));
    CHECK(first.count("config.json") == 1);
    CHECK(first.count("experiment_cfg/metadata.json") == 1);
    CHECK(first.count("experiment_cfg/conf.yaml") == 1);
    CHECK(first.count("model.safetensors.index.json") == 1);
    CHECK(imported.names_under(kDitPrefix).size() == 3);
    CHECK(imported.at(std::string(kImageEncoderPrefix) + "log_scale").shape ==
          std::vector<std::int64_t>{1});
  }
}

}  // namespace
}  // namespace wam
