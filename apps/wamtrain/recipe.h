#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/cores.h"
#include "core/train/recipe.h"
#include "data/recipe/recipe.h"
#include "models/recipe/recipe.h"
#include "parallel/recipe/recipe.h"

namespace wam {

// What a user may write: sections of the components, put together. Resolving it fills in what says
// `auto`; only what needs a GPU to be asked (which would initialise CUDA) stays open until the run
// starts, and is logged then: run.device, run.graphs, run.pin; and the trial overrides of the
// model, which its preset fills.
struct Recipe {
  RunSection run;
  ModelSection model;
  DataSection data;
  TrainSection train;
  ParallelSection parallel;
  MemorySection memory;
  PrecisionSection precision;
  CheckpointSection checkpoint;
  ValidateSection validate;
  LogSection log;

  template <class V>
  void fields(V&& v) {
    v("run", run, "The run as a whole.");
    v("model", model, "What is trained, and where its weights come from.");
    v("data", data, "What it is trained on.");
    v("train", train, "The optimization: AdamW and its schedule.");
    v("parallel", parallel, "How the run is spread over GPUs.");
    v("memory", memory, "What is kept, and where.");
    v("precision", precision, "Number formats, and whether runs repeat bit for bit.");
    v("checkpoint", checkpoint, "When the state is saved, and what a start resumes from.");
    v("validate", validate, "Scores on held-back windows.");
    v("log", log, "Lines of metrics.");
  }
};

struct ResolvedRecipe {
  Recipe options;  // every value as it will be used; this is what is dumped, hashed and saved
  ResolvedModel model;
  ResolvedData data;
  ResolvedTrain train;
  std::int64_t threads = 1;
  CoreShare cores;                // that this process may count on
  std::int64_t busy_threads = 1;  // that it would start with as many as an equal division gives
  std::filesystem::path latent_cache;
  std::filesystem::path text_cache;
  std::filesystem::path index_cache;
  std::string source;  // the file it was read from

  // Canonical YAML, and its XXH3 in hex.
  [[nodiscard]] std::string dump() const;
  [[nodiscard]] std::string hash() const;
};

// The file and its includes, then the overrides, checked and resolved. Reads no dataset, touches no
// GPU. Errors: ConfigError with every problem, each with the place where it was written.
ResolvedRecipe load_recipe_file(const std::filesystem::path& file,
                                const std::vector<std::string>& overrides);

// The same, and looks at what the recipe points to: each dataset's folder, embodiment and first
// table. Problems of both kinds are reported together. model.config is complete then.
// `ranks_on_host`: processes that share this machine's cores.
ResolvedRecipe load_recipe_for_training(const std::filesystem::path& file,
                                        const std::vector<std::string>& overrides,
                                        int ranks_on_host = 1);

// Every key with its type, default and meaning.
std::string recipe_help();

}  // namespace wam
