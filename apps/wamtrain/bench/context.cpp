#include "apps/wamtrain/bench/context.h"

#include "apps/wamtrain/run_device.h"

namespace wam {

BenchUnits BenchContext::units(HoldsState state, const BenchMesh& on) const {
  return {.device = device,
          .compute_type = type,
          .state_type = state_type(recipe),
          .reduce_type = reduce_type(recipe),
          .state = state,
          .state_on_host = offloads_state(recipe),
          .mesh = on};
}

std::vector<std::pair<std::string, std::string>> model_settings(const BenchContext& context) {
  const Recipe& recipe = context.recipe.options;
  std::vector<std::pair<std::string, std::string>> out{
      {"model", context.recipe.model.config.preset},
      {"micro_batch", std::to_string(recipe.train.micro_batch)},
      {"recompute", recipe.memory.plan().text()},
      {"compute", std::string(name_of(recipe.precision.compute))},
      {"deterministic", recipe.precision.deterministic ? "yes" : "no"},
      {"graphs", uses_graphs(context.recipe, context.device) ? "on" : "off"},
      {"text_rows", std::to_string(context.text_rows())}};
  if (context.options.assume_world) {
    out.emplace_back("assume_world", std::to_string(*context.options.assume_world));
  }
  const ParallelSection& parallel = recipe.parallel;
  if (context.ranks.env().world_size > 1) {
    out.emplace_back("ranks", std::to_string(context.mesh.layout.world));
    out.emplace_back("strategy", std::string(name_of(parallel.strategy)));
    out.emplace_back("reduce", std::string(name_of(parallel.reduce)));
    out.emplace_back("reduce_dtype", std::string(name_of(parallel.reduce_dtype)));
  }
  return out;
}

void add_timeline(BenchResult& result,
                  const BenchContext& context,
                  const Timeline& timeline,
                  std::int64_t steps) {
  if (timeline.events.empty()) {
    result.notes.emplace_back(
        "The profiler saw nothing of the device: there are no phases. (LibTorch's profiler needs "
        "CUPTI.)");
    return;
  }
  const auto per_step = 1 / static_cast<double>(steps);
  for (const auto& [kind, ms] : timeline.ms_by_class()) {
    result.phases.push_back({std::string(name_of(kind)), per_step * ms, {}, {}});
  }
  if (!context.options.profile.empty()) result.kernels = timeline.kernels(steps);
  if (context.device.is_cpu()) return;
  const auto launches = static_cast<double>(timeline.launches());
  result.figures.push_back({"launches", "kernels in a step", per_step * launches, "launches", {}});
  result.figures.push_back(
      {"idle_share", "device idle, of profiled steps", timeline.idle_share(), "share", {}});
}

}  // namespace wam
