#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "apps/wamtrain/commands.h"
#include "apps/wamtrain/encoders.h"
#include "apps/wamtrain/install.h"
#include "apps/wamtrain/run_identity.h"
#include "core/base/errors.h"
#include "core/base/format.h"
#include "core/base/names.h"
#include "core/io/hash.h"
#include "core/io/tensor_file.h"
#include "core/train/checkpoint_reader.h"
#include "core/train/checkpoint_verify.h"
#include "core/weights/dreamzero_config.h"
#include "core/weights/dreamzero_folder.h"
#include "core/weights/weights_source.h"
#include "data/embodiment/embodiment.h"

namespace wam {

enum class ExportType { kBf16, kFp32 };
template <>
struct EnumNames<ExportType> {
  static constexpr std::array table{std::pair{ExportType::kBf16, std::string_view("bf16")},
                                    std::pair{ExportType::kFp32, std::string_view("fp32")}};
};

namespace {

// A checkpoint with what its run knew, and the files that its frozen parts lie in.
struct Export {
  explicit Export(const std::filesystem::path& folder)
      : reader(folder),
        config(config_of_identity(reader.manifest().run.model, folder.string())),
        facts(parse_export_facts(reader.manifest().run.extra, folder.string())) {}

  CheckpointReader reader;
  WamConfig config;
  ExportFacts facts;
  std::vector<std::unique_ptr<WeightsSource>> sources;
};

void add_trained(Export& from, std::vector<TensorSource>& out) {
  for (const auto& unit : from.reader.manifest().units) {
    for (const auto& tensor : unit.tensors) {
      out.push_back({kDitPrefix + tensor.name, tensor.shape, [&from, name = tensor.name] {
                       return from.reader.read_tensor(name, "master");
                     }});
    }
  }
}

// The model's weights must be those that the run trained with.
void check_hash(const FrozenPart& part, const RunState& run) {
  for (const auto& origin : run.frozen) {
    if (origin.component != part.component) continue;
    const std::string now = hash_hex(frozen_fingerprint(part.model, part.source));
    require<DataError>(now == origin.hash,
                       "exporting: the {} in {} is not the one that the run trained with (hash {}, "
                       "was {}). Fix: put the former weights back.",
                       part.component, part.origin, now, origin.hash);
  }
}

void add_frozen(Export& from, const FrozenPart& part, std::vector<TensorSource>& out) {
  check_hash(part, from.reader.manifest().run);
  if (part.source.seed) {
    for (const auto& tensor : part.model.tensors) {
      // log_scale: consumers accept one value in a list, not a bare one.
      const auto shape = tensor.shape.empty() ? std::vector<std::int64_t>{1} : tensor.shape;
      out.push_back({part.prefix + tensor.name, shape, [tensor, shape, seed = *part.source.seed] {
                       return random_frozen(tensor, seed, at::kFloat).reshape(shape);
                     }});
    }
    return;
  }
  const auto& source =
      *from.sources.emplace_back(std::make_unique<WeightsSource>(part.source.path));
  for (const auto& name : source.names_under(part.source.prefix)) {
    const bool ignored =
        std::any_of(part.model.ignored_prefixes.begin(), part.model.ignored_prefixes.end(),
                    [&](const std::string& prefix) { return name.starts_with(prefix); });
    if (ignored) continue;
    const TensorView& view = source.at(part.source.prefix + name);
    const auto shape = view.shape.empty() ? std::vector<std::int64_t>{1} : view.shape;
    out.push_back(
        {part.prefix + name, shape, [&view, shape] { return map_tensor(view).reshape(shape); }});
  }
}

DreamZeroModel describe_model(const Export& from, at::ScalarType type) {
  const WamConfig& c = from.config;
  DreamZeroModel model;
  model.model_type = std::string(name_of(c.type));
  model.dim = c.width;
  model.in_dim = c.input_channels();
  model.out_dim = c.latent_channels;
  model.ffn_dim = c.ffn_width;
  model.freq_dim = c.frequency_width;
  model.num_heads = c.heads;
  model.num_layers = c.layers;
  model.eps = c.eps;
  model.frame_seqlen = c.tokens_per_frame();
  model.max_chunk_size = c.max_blocks;
  model.num_action_per_block = c.actions_per_block;
  model.concat_first_frame_latent = c.type == ModelType::kI2v;
  model.num_frames = 1 + 8 * c.max_blocks;
  model.action_horizon = c.actions_per_block;
  model.max_state_dim = c.state_width;
  model.max_action_dim = c.action_width;
  if (c.type == ModelType::kTi2v) {
    model.target_video_size = {c.target_height, c.target_width};
    model.vae38 =
        DreamZeroModel::Vae38{.z_dim = c.latent_channels, .dim = vae_dim(from.facts.model.preset)};
  }
  model.torch_dtype = type == at::kBFloat16 ? "bfloat16" : "float32";
  const auto path_of = [&](const std::string& given) { return given == "random" ? "" : given; };
  model.text_encoder_pretrained_path = path_of(from.facts.model.components.text_encoder);
  model.image_encoder_pretrained_path = path_of(from.facts.model.components.image_encoder);
  model.vae_pretrained_path = path_of(from.facts.model.components.vae);
  return model;
}

void describe_embodiment(const Export& from, DreamZeroModel& model, DreamZeroFolder& folder) {
  const Embodiment robot =
      find_embodiment(from.facts.embodiments.front(), configs_folder() / "embodiment");
  model.embodiment_tag = robot.tag;
  model.relative_action = !robot.relative_action_keys.empty();
  model.relative_action_keys = robot.relative_action_keys;
  DreamZeroEmbodiment out;
  out.tag = robot.tag;
  out.projector_index = {{robot.tag, robot.id}};
  out.video_keys = robot.views;
  out.state_keys = robot.state_keys;
  out.action_keys = robot.action_keys;
  out.language_keys = robot.language_keys;
  out.normalization = std::string(name_of(robot.normalisation.begin()->second));
  out.view_size = {from.facts.view_height, from.facts.view_width};
  out.crop_scale = robot.crop_scale;
  out.color_jitter = {robot.jitter.brightness, robot.jitter.contrast, robot.jitter.saturation,
                      robot.jitter.hue};
  folder.conf_yaml = dreamzero_conf_yaml(model, out);
}

// config.json of the base where there is one, else from the preset's constants; its torch_dtype is
// that of the exported files.
std::string config_text(const Export& from, const DreamZeroModel& model) {
  if (!init_is_folder(from.facts.model)) return dreamzero_config_json(model);
  std::string text = read_dreamzero_config(from.facts.model.init);
  auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  require<DataError>(json.is_object(), "exporting: config.json of {} is not a JSON object.",
                     from.facts.model.init);
  if (json.value("torch_dtype", "") == model.torch_dtype) return text;
  json["torch_dtype"] = model.torch_dtype;
  return json.dump(2) + "\n";
}

}  // namespace

int export_command(const ExportArguments& arguments) {
  const auto type = parse_name<ExportType>(arguments.dtype);
  require<ConfigError>(type.has_value(), "--dtype {}: expected {}. Fix: choose one of them.",
                       arguments.dtype, join(all_names<ExportType>()));
  const WeightsWriterOptions options{.type =
                                         *type == ExportType::kBf16 ? at::kBFloat16 : at::kFloat};
  const CheckpointCheck check = verify_checkpoint(arguments.checkpoint);
  require<DataError>(check.ok(), "exporting {}: {}\nFix: choose another checkpoint of the run.",
                     arguments.checkpoint.string(), check.text());
  Export from(arguments.checkpoint);
  const ResolvedRecipe recipe = from.facts.recipe();
  DreamZeroFolder folder;
  add_trained(from, folder.tensors);
  for (const auto& part :
       {vae_part(recipe), image_part(recipe), text_part(recipe, from.facts.vocabulary)}) {
    fmt::print("{}: {}\n", part.component, part.origin);
    add_frozen(from, part, folder.tensors);
  }
  DreamZeroModel model = describe_model(from, options.type);
  describe_embodiment(from, model, folder);
  folder.config_json = config_text(from, model);
  folder.metadata_json = from.facts.metadata;
  const std::size_t count = folder.tensors.size();
  const WrittenWeights written = write_dreamzero_folder(arguments.out, folder, options);
  fmt::print("exported step {} to {}: {} tensors, {} in {} files\n",
             from.reader.manifest().run.step, arguments.out.string(), count,
             human_bytes(static_cast<double>(written.bytes)), written.files.size());
  return 0;
}

}  // namespace wam
