#include "apps/wamtrain/recipe.h"

#include "apps/wamtrain/dataset_checks.h"
#include "core/io/hash.h"
#include "core/recipe/help.h"
#include "core/recipe/reader.h"
#include "core/recipe/writer.h"

namespace wam {
namespace {

void check_run(const Recipe& recipe, Problems& problems) {
  if (recipe.run.dir.empty()) {
    problems.add("run.dir", "missing. Fix: give a folder for the run, such as runs/first.");
  }
  const auto& resume = recipe.checkpoint.resume;
  if (resume.empty()) {
    problems.add("checkpoint.resume", "empty. Fix: write auto, never or a checkpoint's folder.");
  } else if (resume != "auto" && resume != "never" && !std::filesystem::is_directory(resume)) {
    problems.add("checkpoint.resume",
                 fmt::format("there is no folder {}. Fix: write auto, never or a checkpoint's "
                             "folder.",
                             resume));
  }
}

// Sizes that kernels cannot take, where the run may be on a GPU.
void check_device(const Recipe& recipe, const WamConfig& model, Problems& problems) {
  if (recipe.run.device == DeviceChoice::kCpu) {
    if (recipe.run.graphs == GraphChoice::kOn) {
      problems.add("run.graphs",
                   "on, but run.device is cpu, which has no CUDA graphs. Fix: leave it "
                   "at auto.");
    }
    if (recipe.data.transform_on == TransformOn::kGpu) {
      problems.add("data.transform_on",
                   "gpu, but run.device is cpu. Fix: write cpu, or set run.device to cuda.");
    }
    return;
  }
  if (recipe.precision.compute == ComputeType::kFp64) {
    problems.add(
        "precision.compute",
        "fp64, which is for checks on a CPU. Fix: set run.device to cpu, or bf16 or fp32.");
  }
  if (const auto problem = kernel_size_problem(model)) {
    problems.add("model", fmt::format("{}. Fix: change model.width, model.heads or "
                                      "model.feed_forward, or set run.device to cpu.",
                                      *problem));
  }
}

void check_validation(const Recipe& recipe, Problems& problems) {
  if (recipe.validate.every > 0 && recipe.data.validation <= 0) {
    problems.add("validate.every",
                 fmt::format("every {} steps, but data.validation holds no episode back. Fix: set "
                             "data.validation, such as 0.05, or validate.every to 0.",
                             recipe.validate.every));
  }
}

void check_sampling(const Recipe& recipe, Problems& problems) {
  if (recipe.data.sampling != Sampling::kMultiAnchorPartial || recipe.train.micro_batch == 1)
    return;
  problems.add("train.micro_batch",
               fmt::format("{}, but with data.sampling: multi_anchor_partial samples differ in "
                           "length and do not stack. Fix: train.micro_batch: 1, or data.sampling: "
                           "multi_anchor.",
                           recipe.train.micro_batch));
}

void check_statistics(const Recipe& recipe, Problems& problems) {
  const auto& statistics = recipe.data.statistics;
  if (statistics.empty() || statistics == "auto" || statistics == "compute") return;
  if (std::filesystem::is_regular_file(statistics)) return;
  problems.add("data.statistics",
               fmt::format("there is no file {}. Fix: write auto, compute or the "
                           "path of a metadata.json.",
                           statistics));
}

ResolvedRecipe resolve(const Recipe& recipe, int ranks_on_host, Problems& problems) {
  ResolvedRecipe out;
  out.options = recipe;
  check_run(recipe, problems);
  out.cores =
      share_of_cores(allowed_cores().size(), reachable_cores().size(), ranks_on_host, cpu_quota());
  out.threads = recipe.run.threads.value_or(out.cores.cores);
  out.busy_threads =
      recipe.run.threads.value_or(out.cores.fair) + recipe.data.workers.value_or(out.cores.fair);
  out.model = resolve(recipe.model, problems);
  check_device(recipe, out.model.config, problems);
  out.train = resolve(recipe.train, problems);
  out.data = resolve(recipe.data, out.cores.cores, out.train.options.micro_batch, problems);
  check(recipe.memory, out.model.config.layers, problems);
  check_sampling(recipe, problems);
  check_statistics(recipe, problems);
  check_validation(recipe, problems);
  out.latent_cache =
      recipe.data.latent_cache.empty() ? recipe.run.dir / "latent_cache" : recipe.data.latent_cache;
  out.text_cache =
      recipe.data.text_cache.empty() ? recipe.run.dir / "text_cache" : recipe.data.text_cache;
  out.index_cache =
      recipe.data.index_cache.empty() ? recipe.run.dir / "index" : recipe.data.index_cache;
  out.options.run.threads = out.threads;
  out.options.model = out.model.options;
  out.options.data = out.data.options;
  out.options.data.latent_cache = out.latent_cache;
  out.options.data.text_cache = out.text_cache;
  out.options.data.index_cache = out.index_cache;
  out.options.train = out.train.options;
  return out;
}

ResolvedRecipe load(const std::filesystem::path& file,
                    const std::vector<std::string>& overrides,
                    int ranks_on_host,
                    Problems& problems) {
  const auto recipe = load_recipe<Recipe>(file, overrides, problems);
  // Nothing was read, so all that is required would be missing.
  if (!std::filesystem::exists(file)) problems.throw_if_any();
  auto out = resolve(recipe, ranks_on_host, problems);
  out.source = file.string();
  return out;
}

}  // namespace

std::string ResolvedRecipe::dump() const {
  return dump_recipe(options);
}

std::string ResolvedRecipe::hash() const {
  const auto text = dump();
  return hash_hex(content_hash(text.data(), text.size()));
}

ResolvedRecipe load_recipe_file(const std::filesystem::path& file,
                                const std::vector<std::string>& overrides) {
  Problems problems(file.string());
  auto out = load(file, overrides, /*ranks_on_host=*/1, problems);
  problems.throw_if_any();
  return out;
}

ResolvedRecipe load_recipe_for_training(const std::filesystem::path& file,
                                        const std::vector<std::string>& overrides,
                                        int ranks_on_host) {
  Problems problems(file.string());
  auto out = load(file, overrides, ranks_on_host, problems);
  const auto actions_per_block = check_datasets(out.options.data, problems);
  out.model.config.actions_per_block = actions_per_block.value_or(0);
  problems.throw_if_any();
  return out;
}

std::string recipe_help() {
  return help_recipe<Recipe>();
}

}  // namespace wam
