#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <set>

#include <nlohmann/json.hpp>

#include "core/io/safetensors.h"
#include "test/e2e/support/tiny_run.h"
#include "test/support/catch.h"

// Weights out of the program and into it again.

namespace fs = std::filesystem;
using nlohmann::json;
using wam::SafetensorsFile;
using wam::test::folder_content;
using wam::test::TinyRuns;

namespace {

const std::string kDit = "action_head.model.";
const std::string kTokenizer =
    "tokenizer: " + std::string(WAM_SOURCE_DIR) + "/configs/tiny/tokenizer.model";

void export_step(const TinyRuns& runs,
                 const std::string& run,
                 std::int64_t step,
                 const std::string& out,
                 const std::string& dtype) {
  const auto done =
      runs.run({"export", runs.checkpoint(run, step).string(), "--out", out, "--dtype", dtype});
  INFO(done.out << done.err);
  REQUIRE(done.exit_code == 0);
}

// Everything from the exported folder but the tokenizer, which is not in it.
TinyRuns::Overrides all_from(const std::string& folder) {
  return {"model.init=" + folder,
          "model.components={dit: \"\", text_encoder: \"\", image_encoder: \"\", vae: \"\", " +
              kTokenizer + "}"};
}

TinyRuns::Overrides transformer_from(const std::string& file) {
  return {"model.init=\"\"", "train.steps=0",
          "model.components={dit: " + file +
              ", text_encoder: random, image_encoder: random, vae: random, " + kTokenizer + "}"};
}

// The transformer of an export as a Wan base has it: names without the prefix, and only those
// that `keep` wants.
void write_base(const fs::path& from,
                const fs::path& to,
                const std::function<bool(const std::string&)>& keep) {
  const SafetensorsFile file(from / "model.safetensors");
  std::vector<wam::TensorHeader> headers;
  std::vector<const wam::TensorView*> views;
  for (const auto& [name, view] : file.tensors()) {
    if (!name.starts_with(kDit) || !keep(name.substr(kDit.size()))) continue;
    headers.push_back({name.substr(kDit.size()), view.dtype, view.shape});
    views.push_back(&view);
  }
  REQUIRE(!views.empty());
  wam::SafetensorsWriter writer(to, headers, {{"format", "pt"}});
  for (const auto* view : views) writer.write_next(view->data, view->bytes);
  writer.finish();
}

// What DreamZero adds to the Wan models.
std::set<std::string> action_tensors() {
  std::set<std::string> out;
  for (const char* part : {"state_encoder.layer1.", "state_encoder.layer2.", "action_encoder.W1.",
                           "action_encoder.W2.", "action_encoder.W3.", "action_decoder.layer1.",
                           "action_decoder.layer2."}) {
    for (const char* value : {"W", "b"}) out.insert(std::string(part) + value);
  }
  return out;
}

// What it adds to Wan2.2-TI2V-5B beside: the image branch.
std::set<std::string> image_tensors(int layers) {
  std::set<std::string> out;
  for (const char* layer : {"0", "1", "3", "4"}) {
    for (const char* value : {"weight", "bias"}) {
      out.insert(std::string("img_emb.proj.") + layer + "." + value);
    }
  }
  for (int i = 0; i < layers; ++i) {
    for (const char* value :
         {"k_img.weight", "k_img.bias", "v_img.weight", "v_img.bias", "norm_k_img.weight"}) {
      out.insert("blocks." + std::to_string(i) + ".cross_attn." + value);
    }
  }
  return out;
}

// The names in the line that tells what was freshly initialised.
std::set<std::string> freshly_initialised(const std::string& out) {
  const auto begin = out.find("freshly initialised");
  REQUIRE(begin != std::string::npos);
  std::string names = out.substr(out.find("): ", begin) + 3);
  names.erase(names.find('\n'));
  std::set<std::string> found;
  std::istringstream words(names);
  for (std::string word; words >> word;) {
    if (word.back() == ',') word.pop_back();
    found.insert(word);
  }
  return found;
}

bool same_tensor(const wam::TensorView& a, const wam::TensorView& b) {
  return a.dtype == b.dtype && a.shape == b.shape && std::memcmp(a.data, b.data, a.bytes) == 0;
}

}  // namespace

TEST_CASE("export: imported and exported again, every file has the same bytes") {
  for (const char* preset : {"tiny-5b", "tiny-14b"}) {
    const TinyRuns runs;
    const std::string same_preset = std::string("model.preset=") + preset;
    runs.must_train("run", {"train.steps=2", same_preset});
    for (const char* dtype : {"bf16", "fp32"}) {
      INFO(preset << " " << dtype);
      const std::string first = std::string("first_") + dtype;
      const std::string again = std::string("again_") + dtype;
      export_step(runs, "run", 2, first, dtype);
      auto overrides = all_from(first);
      overrides.push_back(same_preset);
      overrides.emplace_back("train.steps=0");
      runs.must_train(again + "_run", overrides);

      export_step(runs, again + "_run", 0, again, dtype);

      const auto expected = folder_content(runs.path() / first);
      const auto found = folder_content(runs.path() / again);
      CHECK(found.size() == expected.size());
      for (const auto& [file, bytes] : expected) {
        INFO(file);
        REQUIRE(found.contains(file));
        CHECK((found.at(file) == bytes));
      }
    }
  }
}

TEST_CASE("export: holds what DreamZero reads, with the trained weights") {
  const TinyRuns runs;
  runs.must_train("run", {"train.steps=2"});
  export_step(runs, "run", 2, "out", "fp32");

  const auto folder = runs.path() / "out";
  const auto config = json::parse(wam::test::file_content(folder / "config.json"));
  CHECK(config["architectures"] == json({"VLA"}));
  CHECK(config["action_horizon"] == 8);
  CHECK(config["torch_dtype"] == "float32");
  const auto& head = config["action_head_cfg"]["config"];
  CHECK(head["diffusion_model_cfg"]["dim"] == 96);
  CHECK(head["diffusion_model_cfg"]["num_layers"] == 2);
  CHECK(head["vae_cfg"]["z_dim"] == 48);
  const auto metadata =
      json::parse(wam::test::file_content(folder / "experiment_cfg" / "metadata.json"));
  CHECK(metadata["tiny"]["statistics"]["action"]["joint_position"]["q99"].size() == 3);
  CHECK(metadata == json::parse(wam::test::file_content(runs.path() / "run/metadata.json")));
  CHECK(fs::exists(folder / "experiment_cfg" / "conf.yaml"));
  // The model is far smaller than a shard, so there is one file and no index.
  const SafetensorsFile file(folder / "model.safetensors");
  CHECK(file.metadata().at("format") == "pt");
  CHECK(file.at("action_head.image_encoder.model.log_scale").shape == std::vector<std::int64_t>{1});
  for (const char* prefix : {"action_head.text_encoder.", "action_head.image_encoder.model.visual.",
                             "action_head.vae.model.encoder.", "action_head.vae.model.decoder."}) {
    CHECK(std::any_of(file.tensors().begin(), file.tensors().end(),
                      [&](const auto& entry) { return entry.first.starts_with(prefix); }));
  }
  // One tensor against the checkpoint, whose units start with the embeddings.
  const SafetensorsFile state(runs.checkpoint("run", 2) / "shard_00000_of_00001.safetensors");
  const auto manifest =
      json::parse(wam::test::file_content(runs.checkpoint("run", 2) / "manifest.json"));
  const auto& tensor = manifest["units"][0]["tensors"][1];
  const auto& view = file.at(kDit + tensor["name"].get<std::string>());
  const auto* master = state.at(manifest["units"][0]["name"].get<std::string>() + "/master").data;
  CHECK(std::memcmp(view.data, master + 4 * tensor["offset"].get<std::size_t>(), view.bytes) == 0);
}

TEST_CASE("export: plan counts the parameters that are exported") {
  const TinyRuns runs;
  runs.must_train("run", {"train.steps=0"});
  export_step(runs, "run", 0, "out", "bf16");

  const auto done = runs.run(runs.arguments("plan", "run", {"train.steps=1"}));

  REQUIRE(done.exit_code == 0);
  const SafetensorsFile file(runs.path() / "out" / "model.safetensors");
  std::int64_t parameters = 0;
  for (const auto& [name, view] : file.tensors()) {
    if (name.starts_with(kDit)) parameters += static_cast<std::int64_t>(view.bytes) / 2;
  }
  std::string digits = std::to_string(parameters);
  digits.insert(digits.size() - 3, ",");
  CHECK_THAT(done.out, Catch::Contains("model tiny-5b: " + digits + " parameters"));
}

TEST_CASE("export: a damaged checkpoint, and a folder that is there, are refused") {
  const TinyRuns runs;
  runs.must_train("run", {"train.steps=0"});
  const auto checkpoint = runs.checkpoint("run", 0).string();
  fs::create_directory(runs.path() / "full");
  std::ofstream(runs.path() / "full" / "mine") << "keep";

  const auto full = runs.run({"export", checkpoint, "--out", "full"});
  CHECK(full.exit_code == 2);
  CHECK_THAT(full.err, Catch::Contains("full") && Catch::Contains("Fix: "));
  CHECK(folder_content(runs.path() / "full").size() == 1);

  wam::test::damage(runs.checkpoint("run", 0) / "shard_00000_of_00001.safetensors");
  const auto damaged = runs.run({"export", checkpoint, "--out", "out"});
  CHECK(damaged.exit_code == 2);
  CHECK_THAT(damaged.err, Catch::Contains("has changed") && Catch::Contains("Fix: "));
  CHECK_FALSE(fs::exists(runs.path() / "out"));
}

TEST_CASE("export: a model goes on training from an exported folder") {
  const TinyRuns runs;
  runs.must_train("run", {"train.steps=3", "train.schedule=constant"});
  export_step(runs, "run", 3, "out", "fp32");
  auto overrides = all_from("out");
  for (const char* value : {"train.steps=1", "train.warmup=0"}) overrides.emplace_back(value);

  const auto done = runs.must_train("next", overrides);

  CHECK_THAT(done.out, Catch::Contains("statistics of tiny: out/experiment_cfg/metadata.json"));
  REQUIRE(runs.losses("next").size() == 1);
  CHECK(runs.losses("next") != std::vector<std::string>{runs.losses("run")[0]});
}

TEST_CASE("cold start: exactly what the Wan base lacks is freshly initialised, and listed") {
  for (const std::string preset : {"tiny-5b", "tiny-14b"}) {
    INFO(preset);
    const TinyRuns runs;
    const std::string same_preset = "model.preset=" + preset;
    runs.must_train("run", {"train.steps=1", same_preset});
    export_step(runs, "run", 1, "out", "fp32");
    auto added = action_tensors();
    if (preset == "tiny-5b") added.merge(image_tensors(2));
    write_base(runs.path() / "out", runs.path() / "base.safetensors",
               [&](const std::string& name) { return !added.contains(name); });
    auto overrides = transformer_from("base.safetensors");
    overrides.push_back(same_preset);

    const auto done = runs.must_train("cold", overrides);

    CHECK(freshly_initialised(done.out) == added);
    export_step(runs, "cold", 0, "cold_out", "fp32");
    const SafetensorsFile base(runs.path() / "base.safetensors");
    const SafetensorsFile cold(runs.path() / "cold_out" / "model.safetensors");
    for (const auto& [name, view] : base.tensors()) {
      INFO(name);
      CHECK(same_tensor(view, cold.at(kDit + name)));
    }
  }
}

TEST_CASE("cold start: a base that lacks anything else is refused") {
  const TinyRuns runs;
  runs.must_train("run", {"train.steps=0"});
  export_step(runs, "run", 0, "out", "fp32");
  write_base(runs.path() / "out", runs.path() / "base.safetensors",
             [](const std::string& name) { return name != "blocks.1.ffn.0.weight"; });

  const auto done = runs.train("cold", transformer_from("base.safetensors"));

  CHECK(done.exit_code == 2);
  CHECK_THAT(done.err, Catch::Contains("base.safetensors") && Catch::Contains("it lacks 1 ") &&
                           Catch::Contains("blocks.1.ffn.0.weight") && Catch::Contains("Fix: "));
}

TEST_CASE("import: an exported folder that lacks a tensor is refused") {
  const TinyRuns runs;
  runs.must_train("run", {"train.steps=0"});
  export_step(runs, "run", 0, "out", "fp32");
  {
    const SafetensorsFile file(runs.path() / "out" / "model.safetensors");
    std::vector<wam::TensorHeader> headers;
    for (const auto& [name, view] : file.tensors()) {
      if (name != kDit + "head.head.weight") headers.push_back({name, view.dtype, view.shape});
    }
    REQUIRE(headers.size() == file.tensors().size() - 1);
    wam::SafetensorsWriter writer(runs.path() / "short", headers, {});
    for (const auto& header : headers) {
      writer.write_next(file.at(header.name).data, file.at(header.name).bytes);
    }
    writer.finish();
  }
  fs::rename(runs.path() / "short", runs.path() / "out" / "model.safetensors");
  auto overrides = all_from("out");
  overrides.emplace_back("train.steps=0");

  const auto done = runs.train("next", overrides);

  CHECK(done.exit_code == 2);
  CHECK_THAT(done.err, Catch::Contains("head.head.weight") && Catch::Contains("missing") &&
                           Catch::Contains("Fix: "));
}
