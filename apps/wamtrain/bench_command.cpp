#include <cstdio>

#include "apps/wamtrain/bench/bench.h"
#include "apps/wamtrain/bench/save_rates.h"
#include "apps/wamtrain/commands.h"
#include "apps/wamtrain/exit_code.h"
#include "apps/wamtrain/recipe.h"
#include "apps/wamtrain/version.h"
#include "core/base/errors.h"
#include "core/base/log.h"
#include "core/io/atomic_file.h"
#include "core/io/disk.h"

namespace wam {
namespace {

ResolvedRecipe load(const BenchArguments& arguments) {
  const auto& [file, overrides] = arguments.recipe;
  const BenchWhat what = arguments.options.what;
  return what == BenchWhat::kData || what == BenchWhat::kLoop
             ? load_recipe_for_training(file, overrides)
             : load_recipe_file(file, overrides);
}

}  // namespace

int bench_command(const BenchArguments& arguments, OutputFormat format) {
  const BenchOptions& options = arguments.options;
  const bool is_json = format == OutputFormat::kJson;
  check(options);
  require<ConfigError>(options.ids.empty() || is_json || !options.json_folder.empty(),
                       "--id: a named figure is JSON. Fix: say where it goes, --json or --json-dir "
                       "docs/benchmarks.");
  const auto recipe = load(arguments);
  BenchOrigin origin;
  origin.program = version_line();
  origin.commit = kCommit;
  origin.command = arguments.command;
  origin.recipe_hash = recipe.hash();
  Log log({.console = !is_json, .file = ""});
  const BenchResult result = run_bench(recipe, options, origin, log);
  if (!is_json) fmt::print("\n{}", bench_text(result, origin));
  if (is_json && options.ids.empty()) fmt::print("{}\n", bench_json(result, origin));
  if (options.save) {
    log.info(fmt::format("rates saved: {}", save_rates(recipe, options, result, origin).string()));
  }
  for (const FigureId& id : figure_ids(options)) {
    const std::string text = figure_json(id, result, origin);
    if (is_json) fmt::print("{}", text);
    if (options.json_folder.empty()) continue;
    make_folders(options.json_folder);
    write_file_atomically(options.json_folder / (id.id + ".json"), text);
  }
  return kExitOk;
}

}  // namespace wam
