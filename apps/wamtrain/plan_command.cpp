#include <cstdio>
#include <string>

#include <nlohmann/json.hpp>

#include "apps/wamtrain/commands.h"
#include "apps/wamtrain/exit_code.h"
#include "apps/wamtrain/install.h"
#include "apps/wamtrain/plan.h"
#include "apps/wamtrain/predict/predict.h"
#include "apps/wamtrain/rates/card_rates.h"
#include "apps/wamtrain/recipe.h"
#include "core/base/format.h"

namespace wam {
namespace {

std::string bytes(std::int64_t count) {
  return human_bytes(static_cast<double>(count));
}

// The end of a path, which tells more than its beginning.
std::string shortened(const std::string& path, std::size_t width) {
  return path.size() <= width ? path : "..." + path.substr(path.size() - width + 3);
}

void print_model(const Plan& plan, const ResolvedRecipe& recipe) {
  fmt::print("model {}: {} parameters\n", name_of(recipe.options.model.preset),
             with_commas(plan.parameters));
  for (const auto& group : plan.units) {
    const auto title =
        group.units == 1 ? group.name : fmt::format("{} {}", group.units, group.name);
    fmt::print("  {:<38}{:>20}\n", title, with_commas(group.parameters));
  }
}

void print_memory(const Plan& plan, const ResolvedRecipe& recipe) {
  const auto line = [](const std::string& title, std::int64_t count, const char* note = "") {
    fmt::print("  {:<38}{:>20}{}\n", title, bytes(count), note);
  };
  const auto compute = name_of(recipe.options.precision.compute);
  const std::string chosen(name_of(recipe.options.memory.recompute));
  fmt::print("\nmemory on each GPU, predicted\n");
  line(fmt::format("weights, {}", compute), plan.weight_bytes);
  line("gradients, fp32", plan.gradient_bytes);
  if (plan.host_bytes == 0) line("master weights and moments, fp32", plan.optimizer_bytes);
  if (plan.encoder_bytes > 0) {
    line(fmt::format("VAE and image encoder, {}", compute), plan.encoder_bytes);
  }
  for (const auto& [policy, count] : plan.activation_bytes) {
    line(fmt::format("activations, recompute: {}", policy), count,
         policy == chosen ? "  <- this recipe" : "");
  }
  for (const auto& [policy, count] : plan.activation_bytes) {
    line(fmt::format("total with recompute: {}", policy), plan.memory_bytes(policy),
         policy == chosen ? "  <- this recipe" : "");
  }
  if (plan.host_bytes > 0) {
    fmt::print("\nhost memory\n");
    line("master weights and moments, fp32", plan.host_bytes);
  }
  const auto keep = recipe.options.checkpoint.keep;
  fmt::print("\ncheckpoints: {} each, {} with {} kept\n", bytes(plan.checkpoint_bytes),
             bytes(plan.checkpoint_bytes * keep), keep);
}

void print_data(const Plan& plan, const ResolvedRecipe& recipe) {
  fmt::print("\n{:<36}{:>10}{:>12}{:>18}\n", "data", "episodes", "windows", "windows held back");
  for (const auto& set : plan.datasets) {
    fmt::print("  {:<34}{:>10}{:>12}{:>18}\n", shortened(set.path, 33),
               with_commas(set.training_episodes + set.held_back_episodes),
               with_commas(set.training_windows), with_commas(set.held_back_windows));
  }
  const auto& train = recipe.train.options;
  fmt::print("\nrun: {} steps of {} samples, each in {} micro-steps of up to {}\n",
             with_commas(train.steps), train.global_batch, plan.micro_steps, train.micro_batch);
  fmt::print("     {} steps an epoch, {:.3g} epochs\n", with_commas(plan.steps_per_epoch),
             plan.epochs);
}

nlohmann::ordered_json as_json(const Plan& plan, const ResolvedRecipe& recipe) {
  nlohmann::ordered_json out;
  out["recipe"] = recipe.dump();
  out["recipe_hash"] = recipe.hash();
  for (const auto& group : plan.units) {
    out["units"][group.name] = {{"units", group.units}, {"parameters", group.parameters}};
  }
  out["parameters"] = plan.parameters;
  out["weight_bytes"] = plan.weight_bytes;
  out["gradient_bytes"] = plan.gradient_bytes;
  out["optimizer_bytes"] = plan.optimizer_bytes;
  out["host_bytes"] = plan.host_bytes;
  out["encoder_bytes"] = plan.encoder_bytes;
  for (const auto& [policy, count] : plan.activation_bytes) {
    out["activation_bytes"][policy] = count;
    out["memory_bytes"][policy] = plan.memory_bytes(policy);
  }
  out["checkpoint_bytes"] = plan.checkpoint_bytes;
  for (const auto& set : plan.datasets) {
    out["datasets"].push_back({{"path", set.path},
                               {"training_episodes", set.training_episodes},
                               {"held_back_episodes", set.held_back_episodes},
                               {"training_windows", set.training_windows},
                               {"held_back_windows", set.held_back_windows}});
  }
  out["micro_steps"] = plan.micro_steps;
  out["steps_per_epoch"] = plan.steps_per_epoch;
  out["epochs"] = plan.epochs;
  return out;
}

int plan_cluster(const RecipeArguments& arguments,
                 const std::filesystem::path& rates_file,
                 const Cluster& cluster,
                 OutputFormat format) {
  const auto recipe = load_recipe_file(arguments.recipe, arguments.overrides);
  const auto rates =
      load_rates(rates_file.empty() ? configs_folder() / "rates" / "h200.yaml" : rates_file);
  const Prediction prediction = predict(recipe, rates, cluster);
  if (format == OutputFormat::kJson) {
    fmt::print("{}", prediction_json(prediction));
    return kExitOk;
  }
  fmt::print("{}, recompute {}, on {}", name_of(recipe.options.model.preset),
             recipe.options.memory.plan().text(), prediction_text(prediction));
  return kExitOk;
}

}  // namespace

int plan_command(const RecipeArguments& arguments,
                 const PlanOptions& options,
                 OutputFormat format) {
  if (const auto cluster = cluster_of(options)) {
    return plan_cluster(arguments, options.rates, *cluster, format);
  }
  const auto recipe = load_recipe_for_training(arguments.recipe, arguments.overrides);
  const Plan plan = make_plan(recipe);
  check_host_memory(plan.host_bytes);
  if (format == OutputFormat::kJson) {
    fmt::print("{}\n", as_json(plan, recipe).dump(2));
    return kExitOk;
  }
  print_model(plan, recipe);
  print_memory(plan, recipe);
  print_data(plan, recipe);
  fmt::print("\nrecipe, resolved (hash {})\n{}", recipe.hash(), recipe.dump());
  return kExitOk;
}

}  // namespace wam
