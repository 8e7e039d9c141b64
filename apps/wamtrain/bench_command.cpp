#include <chrono>
#include <cstdio>

#include "apps/wamtrain/bench/bench.h"
#include "apps/wamtrain/bench/save_rates.h"
#include "apps/wamtrain/commands.h"
#include "apps/wamtrain/exit_code.h"
#include "apps/wamtrain/load_on_ranks.h"
#include "apps/wamtrain/ranks.h"
#include "apps/wamtrain/recipe.h"
#include "apps/wamtrain/version.h"
#include "core/base/errors.h"
#include "core/base/log.h"
#include "core/io/atomic_file.h"
#include "core/io/disk.h"
#include "parallel/launch/launch_env.h"

namespace wam {
namespace {

ResolvedRecipe load(const BenchArguments& arguments, OutputFormat format, int world) {
  const auto& [file, overrides] = arguments.recipe;
  const BenchOptions& options = arguments.options;
  check(options, world);
  require<ConfigError>(
      options.ids.empty() || format == OutputFormat::kJson || !options.json_folder.empty(),
      "--id: a named figure is JSON. Fix: say where it goes, --json or --json-dir "
      "docs/benchmarks.");
  const BenchWhat what = options.what;
  return what == BenchWhat::kData || what == BenchWhat::kLoop
             ? load_recipe_for_training(file, overrides)
             : load_recipe_file(file, overrides);
}

// Once, for all ranks.
void tell(const BenchArguments& arguments,
          const ResolvedRecipe& recipe,
          const BenchResult& result,
          const BenchOrigin& origin,
          OutputFormat format) {
  const BenchOptions& options = arguments.options;
  const bool is_json = format == OutputFormat::kJson;
  if (!is_json) fmt::print("\n{}", bench_text(result, origin));
  if (is_json && options.ids.empty()) fmt::print("{}\n", bench_json(result, origin));
  if (options.save) {
    const auto file = save_rates(recipe, options, result, origin);
    if (!is_json) fmt::print("rates saved: {}\n", file.string());
  }
  for (const FigureId& id : figure_ids(options)) {
    const std::string text = figure_json(id, result, origin);
    if (is_json) fmt::print("{}", text);
    if (options.json_folder.empty()) continue;
    make_folders(options.json_folder);
    write_file_atomically(options.json_folder / (id.id + ".json"), text);
  }
}

int bench_on_ranks(const BenchArguments& arguments,
                   const ResolvedRecipe& recipe,
                   OutputFormat format) {
  const BenchOptions& options = arguments.options;
  const bool is_json = format == OutputFormat::kJson;
  const RunSection& run = recipe.options.run;
  Ranks ranks(run.dir, std::chrono::milliseconds(static_cast<std::int64_t>(1000 * run.timeout_s)),
              OnStop::kEnd);
  const auto work = [&] {
    BenchOrigin origin;
    origin.program = version_line();
    origin.commit = kCommit;
    origin.command = arguments.command;
    origin.recipe_hash = recipe.hash();
    Log log({.console = !is_json && ranks.is_first(), .file = ""});
    const BenchResult result = run_bench(recipe, options, ranks, origin, log);
    if (ranks.is_first()) tell(arguments, recipe, result, origin, format);
    return static_cast<int>(kExitOk);
  };
  return ranks.run(work, [](const std::string&) {});  // a benchmark leaves no record
}

}  // namespace

int bench_command(const BenchArguments& arguments, OutputFormat format) {
  const LaunchEnv env = read_launch_env(process_environment());
  const auto recipe =
      load_on_ranks(arguments.recipe, env, [&] { return load(arguments, format, env.world_size); });
  const auto& folder = recipe.options.run.dir;
  if (env.world_size > 1) make_folders(folder);  // where several meet
  const int code = bench_on_ranks(arguments, recipe, format);
  std::error_code not_empty;
  if (env.world_size > 1 && env.global_rank == 0) std::filesystem::remove(folder, not_empty);
  return code;
}

}  // namespace wam
