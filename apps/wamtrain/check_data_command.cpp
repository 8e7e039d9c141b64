#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "apps/wamtrain/commands.h"
#include "apps/wamtrain/dataset_checks.h"
#include "apps/wamtrain/datasets.h"
#include "apps/wamtrain/exit_code.h"
#include "apps/wamtrain/index_progress.h"
#include "apps/wamtrain/install.h"
#include "apps/wamtrain/progress_bar.h"
#include "apps/wamtrain/recipe.h"
#include "core/base/cores.h"
#include "core/base/errors.h"
#include "core/base/format.h"
#include "core/io/atomic_file.h"
#include "data/check/check.h"
#include "data/check/page.h"
#include "data/check/text.h"
#include "data/check/verdict.h"

namespace wam {
namespace {

void check_out(const char* option, const std::filesystem::path& file) {
  if (file.empty()) return;
  const auto folder = std::filesystem::absolute(file).parent_path();
  require<ConfigError>(std::filesystem::is_directory(folder),
                       "check-data {}: there is no folder {}. Fix: make it, or write another name.",
                       option, folder.string());
}

void check(const CheckDataArguments& arguments) {
  require<ConfigError>(
      arguments.recipe.recipe.empty() != arguments.datasets.empty(),
      "check-data: found neither a recipe nor a dataset. Fix: write check-data RECIPE, or "
      "check-data --dataset DIR --embodiment NAME.");
  require<ConfigError>(arguments.datasets.empty() || !arguments.embodiment.empty(),
                       "check-data --dataset: found no --embodiment, which says what the columns "
                       "are. Fix: name a record, or write one with `wamtrain embodiment new`.");
  require<ConfigError>(arguments.datasets.empty() || arguments.recipe.overrides.empty(),
                       "check-data --set: found no recipe to override. Fix: leave --set out, or "
                       "write check-data RECIPE.");
  require<ConfigError>(arguments.threads >= 0,
                       "check-data --threads: found {}, expected at least 1. Fix: leave it out for "
                       "one per core.",
                       arguments.threads);
  check_out("--json", arguments.json);
  check_out("--html", arguments.html);
}

Embodiment record(const std::string& name) {
  return find_embodiment(name, configs_folder() / "embodiment");
}

std::vector<CheckOptions> of_folders(const CheckDataArguments& arguments) {
  std::vector<CheckOptions> out;
  for (const auto& folder : arguments.datasets) {
    CheckOptions& options = out.emplace_back();
    options.root = folder;
    options.embodiment = record(arguments.embodiment);
  }
  return out;
}

std::vector<CheckOptions> of_recipe(const ResolvedRecipe& recipe) {
  std::vector<CheckOptions> out;
  for (const auto& section : recipe.options.data.datasets) {
    CheckOptions& options = out.emplace_back();
    options.root = section.path;
    options.embodiment = record(section.embodiment);
    options.filter = episode_filter(section);
    options.blocks = recipe.model.config.max_blocks;
    options.sampling = recipe.options.data.sampling;
    options.bug_compatible = recipe.options.data.bug_compatible;
    options.view_height = recipe.model.view_height;
    options.view_width = recipe.model.view_width;
    options.target_height = recipe.model.config.target_height;
    options.target_width = recipe.model.config.target_width;
  }
  return out;
}

CheckReport run_check(CheckOptions options, const CheckDataArguments& arguments, Log& log) {
  const std::string name = (options.root / "").parent_path().filename().string();
  options.depth = arguments.quick ? CheckDepth::kQuick : CheckDepth::kFull;
  const auto cores = static_cast<std::int64_t>(allowed_cores().size());
  options.threads = static_cast<unsigned>(arguments.threads > 0 ? arguments.threads : cores);
  ProgressBar opening(log, name + ": opening every table", "tables");
  ProgressBar tables(log, name + ": reading every table twice", "readings");
  ProgressBar pictures(log, name + ": decoding every picture", "episodes");
  const std::array bars{&opening, &tables, &pictures};  // by stage
  options.on_progress = [&](CheckStage stage, std::int64_t done, std::int64_t total) {
    bars.at(static_cast<std::size_t>(stage))->show(done, total);
  };
  return check_dataset(options);
}

// What the start of a run finds in recipe and datasets together.
std::vector<std::string> start_problems(const ResolvedRecipe& recipe, Log& log) {
  Problems problems(recipe.source);
  check_datasets(recipe.options.data, problems);
  if (!problems.empty()) return problems.texts();
  try {
    WindowDatasetOptions options = dataset_options(recipe);
    options.index = index_options(recipe.index_cache, false, log);
    static_cast<void>(count_windows(options));
  } catch (const ConfigError& error) {
    return {error.what()};
  } catch (const DataError& error) {
    return {error.what()};
  }
  return {};
}

void add_start(const ResolvedRecipe& recipe, std::vector<CheckReport>& reports, Log& log) {
  if (judge(reports, true).verdict == Verdict::kNoStart) return;  // told with its place
  for (const auto& problem : start_problems(recipe, log)) {
    const auto text = error_text(problem, reports.front().root);
    reports.front().faults.push_back(
        {FaultKind::kStart, Effect::kStart, {}, {}, {}, text.message, text.fix});
  }
  sort_faults(reports.front().faults);
}

template <class Make>
void write(const std::filesystem::path& file, const Make& make) {
  if (file.empty()) return;
  write_file_atomically(file, make());
  fmt::print("written: {}\n", file.string());
}

}  // namespace

int check_data_command(const CheckDataArguments& arguments) {
  check(arguments);
  const bool has_recipe = !arguments.recipe.recipe.empty();
  std::unique_ptr<ResolvedRecipe> recipe;
  if (has_recipe) {
    recipe = std::make_unique<ResolvedRecipe>(
        load_recipe_file(arguments.recipe.recipe, arguments.recipe.overrides));
  }
  Log log({});
  std::vector<CheckReport> reports;
  for (auto& options : has_recipe ? of_recipe(*recipe) : of_folders(arguments)) {
    reports.push_back(run_check(std::move(options), arguments, log));
  }
  if (has_recipe) add_start(*recipe, reports, log);
  for (const auto& report : reports) fmt::print("{}\n", check_text(report));
  const bool skips = has_recipe && recipe->options.data.on_bad_sample == OnBadSample::kSkip;
  const Judgement judgement = judge(reports, skips);
  fmt::print("{}", wrapped(judgement.sentence, 96));
  write(arguments.json, [&] { return check_json(reports, judgement); });
  write(arguments.html, [&] { return check_page(reports, judgement); });
  return judgement.trains() ? kExitOk : kExitUser;
}

}  // namespace wam
