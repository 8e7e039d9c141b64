#include "apps/wamtrain/recipe.h"

#include <fstream>

#include "test/support/catch.h"
#include "test/support/temp_folder.h"

namespace {

// A recipe that is right in itself: everything random, no dataset on disk.
constexpr const char* kSound = R"(
run: {dir: runs/x}
model:
  preset: 5b
  init: random
  components: {text_encoder: random, image_encoder: random, vae: random, tokenizer: TOKENIZER}
data: {datasets: [{path: /data/a, embodiment: oxe_droid}]}
train: {steps: 100, global_batch: 8, micro_batch: 2}
)";

class RecipeFile {
 public:
  RecipeFile() {
    std::string text = kSound;
    const auto tokenizer = folder_.path() / "tokenizer.model";
    std::ofstream(tokenizer) << "x";
    const std::string mark = "TOKENIZER";
    text.replace(text.find(mark), mark.size(), tokenizer.string());
    std::ofstream(path()) << text;
  }
  [[nodiscard]] std::filesystem::path path() const { return folder_.path() / "r.yaml"; }
  [[nodiscard]] wam::ResolvedRecipe load(const std::vector<std::string>& overrides = {}) const {
    return wam::load_recipe_file(path(), overrides);
  }
  // The message of the ConfigError.
  [[nodiscard]] std::string error(const std::vector<std::string>& overrides) const {
    try {
      static_cast<void>(load(overrides));
    } catch (const wam::ConfigError& problem) {
      return problem.what();
    }
    return "no error";
  }

 private:
  wam::test::TempFolder folder_;
};

}  // namespace

TEST_CASE("resolve: geometry and sizes come with the preset and can be overridden") {
  const RecipeFile file;
  const auto recipe = file.load();
  CHECK(recipe.model.view_height == 160);
  CHECK(recipe.model.view_width == 320);
  CHECK(recipe.model.config.target_height == 160);
  CHECK(recipe.model.config.target_width == 320);
  CHECK(recipe.model.config.layers == 30);

  const auto large = file.load({"model.preset=14b", "model.layers=6"});
  CHECK(large.model.view_height == 176);
  CHECK(large.model.config.target_height == 352);
  CHECK(large.model.config.target_width == 640);
  CHECK(large.model.config.layers == 6);
  CHECK(large.options.model.layers == 6);
}

TEST_CASE("resolve: sizes that kernels cannot take are refused unless the run is on the CPU") {
  const RecipeFile file;
  for (const std::string device : {"auto", "cuda"}) {
    const auto error =
        file.error({"model.width=3120", "model.feed_forward=1001", "run.device=" + device});
    CHECK_THAT(error, Catch::Contains("model: head width 130, feed-forward width 1001: "));
    CHECK_THAT(error, Catch::Contains("Fix: change model.width"));
  }
  CHECK(file.load({"model.width=3120", "run.device=cpu"}).model.config.width == 3120);
  CHECK_THAT(file.error({"model.width=8256", "model.heads=43"}),
             Catch::Contains("model: width 8256: "));
}

TEST_CASE("resolve: nothing says auto any more but what asks the machine") {
  const auto dump = RecipeFile().load().dump();
  auto text = dump;
  for (const std::string allowed : {"device: auto", "graphs: auto", "pin: auto", "shard_size: auto",
                                    "statistics: auto", "resume: auto"}) {
    const auto at = text.find(allowed);
    REQUIRE(at != std::string::npos);
    text.erase(at, allowed.size());
  }
  INFO(dump);
  CHECK(text.find("auto") == std::string::npos);
}

TEST_CASE("resolve: a resolved recipe loads back to itself") {
  const RecipeFile file;
  const auto recipe = file.load();
  std::ofstream(file.path()) << recipe.dump();

  const auto again = file.load();

  CHECK(again.dump() == recipe.dump());
  CHECK(again.hash() == recipe.hash());
  CHECK(file.load({"train.learning_rate=2e-5"}).hash() != recipe.hash());
}

TEST_CASE("resolve: warm-up is a number of steps or a ratio, rounded up") {
  const RecipeFile file;
  CHECK(file.load({"train.warmup=0.05", "train.steps=101"}).train.warmup_steps == 6);
  CHECK(file.load({"train.warmup=7"}).train.warmup_steps == 7);
  CHECK(file.load({"train.warmup=0"}).train.warmup_steps == 0);
  CHECK(file.load({"train.steps=0", "train.warmup=0.5"}).train.warmup_steps == 0);
  CHECK_THAT(file.error({"train.warmup=101"}),
             Catch::Contains("train.warmup: 101 steps of warm-up are more than train.steps: 100"));
  CHECK_THAT(file.error({"train.warmup=1.5"}), Catch::Contains("expected a whole number of steps"));
}

TEST_CASE("resolve: contradictions name the key that was written") {
  const RecipeFile file;
  CHECK_THAT(file.error({"train.micro_batch=9"}),
             Catch::StartsWith("--set train.micro_batch=9: train.micro_batch: 9 samples do not fit "
                               "into train.global_batch: 8. Fix: "));
  CHECK_THAT(file.error({"validate.every=10"}), Catch::Contains("holds no episode back"));
  CHECK_THAT(file.error({"run.dir="}), Catch::Contains("run.dir"));
  CHECK_THAT(file.error({"checkpoint.resume=/nowhere"}),
             Catch::Contains("there is no folder /nowhere"));
  CHECK_THAT(file.error({"data.statistics=/nowhere.json"}),
             Catch::Contains("there is no file /nowhere.json"));
  CHECK_THAT(file.error({"model.width=100"}), Catch::Contains("model: "));
}

TEST_CASE("resolve: every component comes from exactly one place") {
  const RecipeFile file;
  CHECK_THAT(file.error({"model.components.vae="}), Catch::Contains("model.components.vae"));
  CHECK_THAT(file.error({"model.components.vae=\"\""}),
             Catch::Contains("model.init does not bring vae. Fix: give the path of each"));
  CHECK_THAT(file.error({"model.components={}", "model.init=\"\""}),
             Catch::Contains("does not bring dit, text_encoder, image_encoder, vae, tokenizer"));
  CHECK_THAT(file.error({"model.components.tokenizer=random"}),
             Catch::Contains("random is not possible here"));
  CHECK_THAT(file.error({"model.components.dit=/a"}), Catch::Contains("/a and from model.init"));
  CHECK_THAT(file.error({"model.init=/nowhere"}), Catch::Contains("/nowhere is not there"));

  const auto folder = file.path().parent_path().string();
  const auto recipe =
      file.load({"model.init=" + folder, "model.components.vae=\"\"",
                 "model.components.text_encoder=\"\"", "model.components.image_encoder=\"\""});
  CHECK(wam::init_is_folder(recipe.model.options));
}

TEST_CASE("resolve: data needs datasets, each with a path and an embodiment") {
  const RecipeFile file;
  CHECK_THAT(file.error({"data.datasets=[]"}), Catch::Contains("data.datasets: no dataset"));
  const auto text = file.error({"data.datasets=[{}]"});
  CHECK_THAT(text, Catch::Contains("data.datasets.0.path: missing"));
  CHECK_THAT(text, Catch::Contains("data.datasets.0.embodiment: missing"));
  CHECK(wam::held_back_episodes(0.1, 15) == 2);
  CHECK(wam::held_back_episodes(3, 15) == 3);
  CHECK(wam::held_back_episodes(0, 15) == 0);
}

TEST_CASE("resolve: episodes of a dataset are chosen by number, range, success and length") {
  const RecipeFile file;
  const auto recipe =
      file.load({"data.datasets=[{path: a, embodiment: tiny, episodes: [7, 20:40, \"100:\"], "
                 "only_successful: true, min_length: 40, max_length: 90}]"});
  const auto& dataset = recipe.options.data.datasets.at(0);
  CHECK(dataset.episodes == std::vector<std::string>{"7", "20:40", "100:"});
  CHECK(dataset.only_successful);
  CHECK(dataset.min_length == 40);
  CHECK(dataset.max_length == 90);
  CHECK_THAT(
      file.error({"data.datasets=[{path: a, embodiment: tiny, min_length: 9, max_length: 8}]"}),
      Catch::Contains("data.datasets.0.max_length: 8 is below min_length 9. Fix:"));
}

TEST_CASE("resolve: as many samples are read ahead as keep GPU and workers busy") {
  const RecipeFile file;
  const auto ahead = [&](const std::vector<std::string>& overrides) {
    return file.load(overrides).data.prefetch_samples;
  };
  CHECK(ahead({"data.workers=1", "train.micro_batch=4"}) == 8);
  CHECK(ahead({"data.workers=16", "train.micro_batch=4"}) == 32);
  CHECK(ahead({"data.workers=16", "data.prefetch_samples=5"}) == 5);
  CHECK_THAT(file.error({"data.prefetch_samples=0"}), Catch::Contains("data.prefetch_samples"));
  // The key of older recipes, which counted micro-batches.
  CHECK_THAT(file.error({"data.prefetch=4"}),
             Catch::Contains("data.prefetch: unknown key; the nearest one is "
                             "data.prefetch_samples. Fix: write data.prefetch_samples."));
}

TEST_CASE("resolve: partial windows do not stack") {
  const RecipeFile file;
  CHECK_THAT(
      file.error(
          {"data.sampling=multi_anchor_partial", "train.micro_batch=2", "train.global_batch=4"}),
      Catch::Contains("train.micro_batch: 2, but with data.sampling: multi_anchor_partial") &&
          Catch::Contains("Fix: train.micro_batch: 1"));
  CHECK(file.load({"data.sampling=multi_anchor_partial", "train.micro_batch=1"})
            .options.data.sampling == wam::Sampling::kMultiAnchorPartial);
  CHECK(file.load({}).options.data.sampling == wam::Sampling::kMultiAnchor);
}

TEST_CASE("resolve: a policy of the first blocks must change something") {
  const RecipeFile file;
  CHECK_THAT(file.error({"memory.recompute=full", "memory.first_blocks=1"}),
             Catch::Contains("memory.first_blocks: the first blocks would follow full"));
  CHECK_THAT(file.error({"memory.recompute=norms", "memory.first_blocks=2", "model.layers=2"}),
             Catch::Contains("memory.first_blocks: 2 blocks, and the transformer has 2"));
  CHECK_THAT(file.error({"memory.first_recompute=attention"}),
             Catch::Contains("memory.first_recompute: a policy for the first blocks"));
  CHECK(file.load({"memory.recompute=norms", "memory.first_blocks=1"})
            .options.memory.plan()
            .of_block(0) == wam::RecomputePolicy::kFull);
}

TEST_CASE("resolve: CUDA graphs on a CPU, and a width that q, k and v cannot share, are refused") {
  const RecipeFile file;
  CHECK_THAT(file.error({"run.device=cpu", "run.graphs=on"}),
             Catch::Contains("run.graphs: on, but run.device is cpu"));
  CHECK_THAT(file.error({"run.device=cpu", "model.width=36", "model.heads=6"}),
             Catch::Contains("width 36 is no multiple of 8"));
}

TEST_CASE(
    "resolve: pictures are transformed on the CPU unless a GPU is asked for, which must be one") {
  const RecipeFile file;
  CHECK(file.load({"run.device=cpu"}).options.data.transform_on == wam::TransformOn::kCpu);
  CHECK(file.load({"run.device=cuda", "data.transform_on=gpu"}).options.data.transform_on ==
        wam::TransformOn::kGpu);
  CHECK_THAT(file.error({"run.device=cpu", "data.transform_on=gpu"}),
             Catch::Contains("data.transform_on: gpu, but run.device is cpu. Fix: "));
  CHECK_THAT(file.error({"data.range_floor=-1"}), Catch::Contains("data.range_floor"));
}

TEST_CASE("resolve: what is planned is refused in words") {
  const RecipeFile file;
  for (const std::string text : {"precision.compute=fp8", "model.train=lora"}) {
    CHECK_THAT(file.error({text}), Catch::Contains("is planned but not built yet"));
  }
}

TEST_CASE("help documents every section") {
  const auto help = wam::recipe_help();
  for (const char* key : {"run:", "model:", "data:", "train:", "parallel:", "memory:", "precision:",
                          "checkpoint:", "validate:", "log:", "repeat_batch:"}) {
    CHECK_THAT(help, Catch::Contains(key));
  }
}

TEST_CASE("resolve: cached latents need fixed augmentations, and lie in the run's folder") {
  const RecipeFile file;
  CHECK_THAT(file.error({"data.latents=cached"}),
             Catch::Contains("data.latents: cached, but data.augmentations is 0") &&
                 Catch::Contains("Fix: data.augmentations: 1"));
  const auto recipe = file.load({"data.latents=cached", "data.augmentations=1"});
  CHECK(recipe.latent_cache == "runs/x/latent_cache");
  CHECK(file.load({"data.latent_cache=/shared"}).latent_cache == "/shared");
  CHECK_THAT(file.error({"data.augmentations=-1"}), Catch::Contains("data.augmentations"));
}
