#include "apps/wamtrain/cli.h"

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "apps/wamtrain/command_line_error.h"
#include "apps/wamtrain/commands.h"
#include "apps/wamtrain/exit_code.h"
#include "apps/wamtrain/option_word.h"
#include "apps/wamtrain/recipe.h"
#include "apps/wamtrain/version.h"
#include "core/base/errors.h"
#include "core/base/names.h"
#include "data/embodiment/known_robots.h"

namespace wam {
namespace {

// The subcommand that was chosen, with its arguments.
using Action = std::function<int()>;

CLI::Option* add_recipe_arguments(CLI::App& command, RecipeArguments& arguments) {
  auto* recipe = command.add_option("RECIPE", arguments.recipe, "Recipe, a YAML file")->required();
  command
      .add_option("--set", arguments.overrides,
                  "Override a value: path.to.key=value; the value is YAML, such as [0.9, 0.95]")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return recipe;
}

void add_train(CLI::App& app, Action& action) {
  auto& command = *app.add_subcommand("train", "Train a model from a recipe");
  const auto arguments = std::make_shared<RecipeArguments>();
  add_recipe_arguments(command, *arguments);
  command.add_flag_callback(
      "--help-recipe",
      [] {
        fmt::print("{}", recipe_help());
        throw CLI::Success();
      },
      "Document every key of a recipe");
  command.callback([&action, arguments] { action = [=] { return train_command(*arguments); }; });
}

void add_cache(CLI::App& app, Action& action) {
  auto& command = *app.add_subcommand("cache", "Encode texts or pictures of a recipe before a run");
  const auto arguments = std::make_shared<CacheArguments>();
  add_recipe_arguments(command, arguments->recipe);
  command
      .add_option_function<std::string>(
          "--what",
          [arguments](const auto& word) {
            arguments->what = option_word<CacheWhat>("--what", word);
          },
          join(all_names<CacheWhat>()))
      ->required();
  command.add_flag("--rebuild", arguments->rebuilds,
                   "Where cached latents are of something else: remove them, and begin anew");
  command.callback([&action, arguments] { action = [=] { return cache_command(*arguments); }; });
}

void add_export(CLI::App& app, Action& action) {
  auto& command = *app.add_subcommand("export", "Write a checkpoint as a DreamZero folder");
  const auto arguments = std::make_shared<ExportArguments>();
  command.add_option("CHECKPOINT", arguments->checkpoint, "A step_* folder of RUN/checkpoints")
      ->required();
  command.add_option("--out", arguments->out, "Folder to write")->required();
  command.add_option("--dtype", arguments->dtype, "bf16 or fp32")->capture_default_str();
  command.callback([&action, arguments] { action = [=] { return export_command(*arguments); }; });
}

void add_plan(CLI::App& app, Action& action) {
  auto& command = *app.add_subcommand("plan", "Show what a run would be and need");
  const auto arguments = std::make_shared<RecipeArguments>();
  const auto json = std::make_shared<bool>(false);
  const auto options = std::make_shared<PlanOptions>();
  add_recipe_arguments(command, *arguments);
  command.add_option("--gpus", options->gpus,
                     "Predict memory, traffic and speed of every strategy on this many GPUs; the "
                     "datasets are not read");
  command.add_option("--nodes", options->nodes, "Of so many machines (default 1)");
  command.add_option("--link", options->link_gb_s,
                     "Network between them: GB/s that each GPU has to itself");
  command.add_option("--rates", options->rates,
                     "Measured rates of the card (default configs/rates/h200.yaml)");
  command.add_flag("--json", *json, "One JSON object, for scripts");
  command.callback([&action, arguments, options, json] {
    action = [=] {
      return plan_command(*arguments, *options, *json ? OutputFormat::kJson : OutputFormat::kText);
    };
  });
}

void add_bench_figures(CLI::App& command, BenchOptions& o) {
  command
      .add_option("--id", o.ids,
                  "Give a figure a name: NAME, or NAME=FIGURE. Without FIGURE it is the one that "
                  "NAME ends in, such as ms in 5b_mbs1_ms, or the first")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option("--json-dir", o.json_folder, "Write each named figure as DIR/NAME.json");
  command.add_option("--profile", o.profile, "Write a Chrome trace, and show kernels by name");
  command.add_flag("--phases,!--no-phases", o.phases, "Profile some steps after the timed ones");
  command
      .add_option("--ceiling-seconds", o.ceiling_seconds,
                  "How long to measure the card's own matrix product; 0: not at all")
      ->capture_default_str();
}

void add_bench(CLI::App& app, Action& action, const std::string& typed) {
  auto& command = *app.add_subcommand("bench", "Time parts of a run and show where the time goes");
  const auto arguments = std::make_shared<BenchArguments>();
  arguments->command = typed;
  BenchOptions& o = arguments->options;
  const auto json = std::make_shared<bool>(false);
  add_recipe_arguments(command, arguments->recipe);
  command.add_option_function<std::string>(
      "--what", [&o](const auto& word) { o.what = option_word<BenchWhat>("--what", word); },
      join(all_names<BenchWhat>()) + " (default model)");
  command.add_option("--steps", o.steps, "Timed steps, after some others")->capture_default_str();
  command.add_option("--text-rows", o.text_rows,
                     "Text of this many positions, not the full length");
  command.add_option("--assume-world", o.assume_world,
                     "Be one of this many ranks of a full shard, without the others");
  command.add_flag("--against-one", o.against_one,
                   "Also time the part of one rank, or of one of the loader's workers, alone");
  command.add_option(
      "--save-to", o.save_to,
      "Also save once into this new folder, and remove it: what a save adds to a step");
  command.add_flag("--encoders,!--no-encoders", o.with_encoders,
                   "Encode pictures in a step, or take values as they would come from it");
  command.add_option("--clips", o.clips, "Clips a call of an encoder, not train.micro_batch");
  command.add_option_function<std::string>(
      "--encoder",
      [&o](const auto& word) { o.encoder = option_word<BenchEncoder>("--encoder", word); },
      join(all_names<BenchEncoder>()) + " (default all)");
  command.add_option(
      "--torchvision", o.torchvision,
      "Also time torchvision on the same pictures: scripts/time_torchvision.py, run by "
      "the Python of WAM_PYTHON, else python3");
  add_bench_figures(command, o);
  command
      .add_option_function<std::string>(
          "--save",
          [&o](const std::string& file) {
            o.save = true;
            o.rates = file;
          },
          "Put what was measured into the rates that plan --gpus reads: FILE, or "
          "configs/rates/<card>.yaml")
      ->type_name("[FILE]")
      ->expected(0, 1)
      ->default_str("");
  command.add_flag("--json", *json, "JSON, for scripts: one object, or one of each named figure");
  command.callback([&action, arguments, json] {
    action = [=] {
      return bench_command(*arguments, *json ? OutputFormat::kJson : OutputFormat::kText);
    };
  });
}

void add_sample(CLI::App& app, Action& action) {
  auto& command = *app.add_subcommand("sample", "Write the sample world, a small robot dataset");
  const auto arguments = std::make_shared<SampleArguments>();
  command.add_option("--out", arguments->out, "Folder of the dataset")->required();
  command.add_option("--layout", arguments->layout, "LeRobot's: v2.1, or v3.0")
      ->capture_default_str();
  command.add_option("--pictures", arguments->pictures, "mp4, or images inside the tables")
      ->capture_default_str();
  command.add_option("--episodes", arguments->episodes, "Episodes of 45 to 80 frames")
      ->capture_default_str();
  command.add_option("--seed", arguments->seed, "Another seed, other episodes")
      ->capture_default_str();
  command.callback([&action, arguments] { action = [=] { return sample_command(*arguments); }; });
}

void add_embodiment(CLI::App& app, Action& action) {
  auto& group = *app.add_subcommand("embodiment", "Records of robots");
  group.require_subcommand(1);
  auto& command = *group.add_subcommand("new", "Write a first record from a dataset's metadata");
  const auto arguments = std::make_shared<NewEmbodimentArguments>();
  command.add_option("--dataset", arguments->dataset, "A LeRobot folder")->required();
  command.add_option(
      "--like", arguments->like,
      "Prompt, id and layout of: " + join(known_robot_names()) + ", or a record by name or path");
  command.add_option("--out", arguments->out, "The YAML file to write (default: TAG.yaml)");
  command.callback(
      [&action, arguments] { action = [=] { return new_embodiment_command(*arguments); }; });
}

void add_stats(CLI::App& app, Action& action) {
  auto& command = *app.add_subcommand("stats", "Compute a metadata.json from datasets of a robot");
  const auto arguments = std::make_shared<StatsArguments>();
  command.add_option("DATASET", arguments->datasets, "LeRobot folders; several are pooled")
      ->required();
  command.add_option("--embodiment", arguments->embodiment, "Name or YAML file of the record")
      ->required();
  command.add_option("--out", arguments->out, "The metadata.json to write")->required();
  EpisodeFilter& filter = arguments->filter;
  command.add_option("--episodes", filter.episodes,
                     "Numbers and ranges (7 20:40 100:) to use of each dataset");
  command.add_flag("--only-successful", filter.only_successful, "Leave out failed episodes");
  command.add_option("--min-length", filter.min_length, "Least length of an episode, in frames");
  command.add_option("--max-length", filter.max_length, "Greatest length; 0: no bound");
  command.add_flag("--merge", arguments->merge,
                   "Put the entry into a file that is there; all else in it stays");
  command.add_option("--range-floor", arguments->range_floor,
                     "Widen bounds that are closer than this, as data.range_floor does");
  command.add_flag(
      "--leave-out-not-finite", arguments->leaves_out_not_finite,
      "Leave out NaN and infinite values, and say how many; without, they are refused");
  command.add_option("--threads", arguments->threads, "That read; without, one per core");
  command.callback([&action, arguments] { action = [=] { return stats_command(*arguments); }; });
}

void add_check_data(CLI::App& app, Action& action) {
  auto& command = *app.add_subcommand("check-data", "Look for what is wrong with datasets");
  const auto arguments = std::make_shared<CheckDataArguments>();
  auto* recipe = add_recipe_arguments(command, arguments->recipe);
  recipe->required(false);
  auto* dataset = command.add_option("--dataset", arguments->datasets,
                                     "Without a recipe: a LeRobot folder; may be repeated");
  command.add_option("--embodiment", arguments->embodiment, "Name or YAML file of their record")
      ->needs(dataset);
  dataset->excludes(recipe);
  command.add_flag("--quick", arguments->quick,
                   "Decode no picture: metadata, tables and the indices of containers");
  command.add_option("--json", arguments->json, "Also write all of it as this JSON file");
  command.add_option("--html", arguments->html,
                     "Also write it as one HTML page, with pictures and histograms");
  command.add_option("--threads", arguments->threads, "That read; without, one per core");
  command.callback(
      [&action, arguments] { action = [=] { return check_data_command(*arguments); }; });
}

void add_verify(CLI::App& app, Action& action) {
  auto& command = *app.add_subcommand("verify", "Check every byte of a checkpoint");
  const auto checkpoint = std::make_shared<std::filesystem::path>();
  command.add_option("CHECKPOINT", *checkpoint, "A step_* folder of RUN/checkpoints")->required();
  command.callback([&action, checkpoint] { action = [=] { return verify_command(*checkpoint); }; });
}

void add_checkpoints(CLI::App& app, Action& action) {
  auto& command = *app.add_subcommand("checkpoints", "List the checkpoints of a run");
  const auto arguments = std::make_shared<CheckpointsArguments>();
  command.add_option("RUN", arguments->run, "The run.dir of a run")->required();
  command.add_flag_callback(
      "--verify", [arguments] { arguments->look = CheckpointLook::kHashes; },
      "Check every byte, as resuming does; without, manifests and sizes");
  command.add_flag_callback(
      "--json", [arguments] { arguments->format = OutputFormat::kJson; },
      "One JSON array, for scripts");
  command.callback(
      [&action, arguments] { action = [=] { return checkpoints_command(*arguments); }; });
}

void add_report(CLI::App& app, Action& action) {
  auto& command = *app.add_subcommand("report", "Write one HTML page about a run");
  const auto arguments = std::make_shared<ReportArguments>();
  command.add_option("RUN", arguments->run, "The run.dir of a run, finished or not")->required();
  command.add_option("--picture", arguments->picture,
                     "Also write recorded and predicted actions as this SVG file");
  command.callback([&action, arguments] { action = [=] { return report_command(*arguments); }; });
}

// The command line as a shell would take it again.
std::string as_typed(int argc, char** argv) {
  std::string out = "wamtrain";
  for (const std::string_view word : std::vector<std::string_view>(argv + 1, argv + argc)) {
    const bool is_plain = word.find_first_of(" '\"{}[]$&;()*?<>|\\") == word.npos;
    out += is_plain ? fmt::format(" {}", word) : fmt::format(" '{}'", word);
  }
  return out;
}

}  // namespace

int run_command_line(int argc, char** argv) {
  CLI::App app("Trains world-action models on LeRobot data.", "wamtrain");
  app.set_version_flag("--version", version_text());
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  Action action;
  add_train(app, action);
  add_cache(app, action);
  add_plan(app, action);
  add_bench(app, action, as_typed(argc, argv));
  add_sample(app, action);
  add_embodiment(app, action);
  add_stats(app, action);
  add_check_data(app, action);
  add_export(app, action);
  add_verify(app, action);
  add_checkpoints(app, action);
  add_report(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {
    return app.exit(done);
  } catch (const CLI::ParseError& error) {
    throw ConfigError(explain(app, error, {argv + 1, argv + argc}));
  }
  return action();
}

}  // namespace wam
