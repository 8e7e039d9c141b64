#include "apps/wamtrain/run_inputs.h"

#include <map>

#include <nlohmann/json.hpp>

#include "apps/wamtrain/run_identity.h"
#include "apps/wamtrain/run_start.h"
#include "apps/wamtrain/training_parts.h"
#include "core/base/errors.h"
#include "core/base/names.h"
#include "data/loader/order.h"

namespace wam {
namespace {

// Names the generator of core/random in checkpoints; another one would draw other numbers.
constexpr const char* kGenerator = "philox4x32-10";

std::unique_ptr<CheckpointReader> find_start_together(const ResolvedRecipe& recipe,
                                                      Ranks& ranks,
                                                      Log& log) {
  std::unique_ptr<CheckpointReader> start;
  const std::string folder = ranks.from_first([&] {
    start = find_start(recipe, log);
    return start ? start->folder().string() : std::string();
  });
  if (ranks.is_first() || folder.empty()) return start;
  return std::make_unique<CheckpointReader>(folder);
}

std::map<std::string, Statistics> saved_statistics(const CheckpointReader* start) {
  if (start == nullptr) return {};
  const std::string where = start->folder().string();
  return parse_metadata(parse_export_facts(start->manifest().run.extra, where).metadata, where);
}

// Statistics of the first rank for all.
OpenedData open_data_together(const ResolvedRecipe& recipe,
                              const CheckpointReader* start,
                              Ranks& ranks,
                              Log& log) {
  OpenedData data;
  const std::string statistics = ranks.from_first([&] {
    data = open_data(recipe, saved_statistics(start), log);
    return metadata_text(data.statistics);
  });
  if (ranks.is_first()) return data;
  return open_data(recipe, parse_metadata(statistics, "the first rank's statistics"), log);
}

std::vector<FrozenOrigin> frozen_origins_together(const ResolvedRecipe& recipe, Ranks& ranks) {
  using Json = nlohmann::ordered_json;
  const std::string text = ranks.from_first([&] {
    Json all = Json::array();
    for (const auto& part : frozen_origins(recipe)) {
      all.push_back({part.component, part.source, part.hash});
    }
    return all.dump();
  });
  std::vector<FrozenOrigin> frozen;
  for (const auto& part : Json::parse(text)) frozen.push_back({part[0], part[1], part[2]});
  return frozen;
}

}  // namespace

const std::string& RunInputs::hash_of(const std::string& component) const {
  for (const auto& origin : frozen) {
    if (origin.component == component) return origin.hash;
  }
  throw InvariantError("a frozen component without a hash");
}

RunInputs read_inputs(const ResolvedRecipe& recipe, Ranks& ranks, Log& log) {
  RunInputs inputs;
  inputs.start = find_start_together(recipe, ranks, log);
  inputs.data = open_data_together(recipe, inputs.start.get(), ranks, log);
  inputs.frozen = frozen_origins_together(recipe, ranks);
  inputs.facts = export_facts_json(export_facts(recipe, inputs.data.statistics));
  return inputs;
}

ExpectedRun expected_run(const ResolvedRecipe& recipe,
                         const RunInputs& inputs,
                         c10::Device device,
                         int world_size) {
  ExpectedRun expected;
  expected.model = model_identity(recipe.model.config, inputs.frozen);
  expected.data_fingerprint = inputs.data.splits.training->fingerprint();
  expected.data_order = order_name(recipe.options.data.datasets.size(), mixture_draw(recipe));
  expected.seed = recipe.options.run.seed;
  expected.generator = kGenerator;
  expected.global_batch = recipe.train.options.global_batch;
  expected.recipe = recipe.dump();
  expected.recipe_hash = recipe.hash();
  expected.world_size = world_size;
  expected.threads = device.is_cpu() ? recipe.threads : 1;
  return expected;
}

void check_same_run(const RunState& saved, const ExpectedRun& expected, Log& log) {
  const RunComparison compared = compare_run(saved, expected);
  require<ConfigError>(compared.refused.empty(),
                       "resuming from step {}: this recipe is another run.\n  {}\nFix: undo the "
                       "change, or give the new run a run.dir of its own.",
                       saved.step, join(compared.refused, "\n  "));
  for (const auto& note : compared.notes) log.info(note);
}

}  // namespace wam
