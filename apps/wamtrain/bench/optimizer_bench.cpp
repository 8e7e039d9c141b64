#include "apps/wamtrain/bench/optimizer_bench.h"

#include "apps/wamtrain/bench/profiler.h"
#include "apps/wamtrain/bench/timing.h"
#include "apps/wamtrain/bench/units.h"
#include "apps/wamtrain/run_device.h"
#include "apps/wamtrain/training_parts.h"
#include "core/base/format.h"
#include "core/cuda/device.h"
#include "models/wam/parameters.h"

namespace wam {
namespace {

// Of the update alone, a parameter: master, two moments and gradient read; the first three and the
// compute copy written.
double update_bytes(c10::ScalarType compute_type) {
  return 7 * 4 + static_cast<double>(c10::elementSize(compute_type));
}
constexpr double kNormBytes = 4;  // the gradient, once more

double num_parameters(Sharding& units) {
  std::int64_t count = 0;
  for (const Unit& unit : units.units()) count += unit.shard().numel();
  return static_cast<double>(count);
}

// TB/s of a part that moves so many bytes.
double tb_s(double bytes, double ms) {
  return 1e-9 * bytes / ms;
}

void add_rates(BenchResult& out, double parameters, const BenchContext& context) {
  for (StepPart& phase : out.phases) {
    if (phase.name == name_of(KernelClass::kSquareSum)) {
      phase.tb_s = tb_s(kNormBytes * parameters, phase.ms);
    }
    if (phase.name != name_of(KernelClass::kOptimizer)) continue;
    phase.tb_s = tb_s(update_bytes(context.type) * parameters, phase.ms);
    if (context.device.is_cpu()) continue;
    out.figures.push_back({"update_tb_s", "of the update's kernels alone", *phase.tb_s, "TB/s",
                           share_of(*phase.tb_s, context.ceilings, &Ceilings::copy_tb_s)});
  }
}

}  // namespace

BenchResult bench_optimizer(const BenchContext& context) {
  const auto units = make_bench_units(wam_units(context.recipe.model.config),
                                      context.units(HoldsState::kYes, context.mesh));
  const auto optimizer = make_optimizer(context.recipe, context.device, *units);
  const auto call = [&] { optimizer->step(context.recipe.train.options.learning_rate); };
  reset_peak_memory(context.device);
  const CallTimes times = time_calls(context.device, context.options.steps, call);

  const double parameters = num_parameters(*units);
  const double bytes = update_bytes(context.type) * parameters;
  const double rate = tb_s(bytes, 1e3 * times.median_s);
  const auto ratio = share_of(rate, context.ceilings, &Ceilings::copy_tb_s);
  BenchResult out;
  out.title = "AdamW, fp32 state and gradient";
  out.settings = {{"model", context.recipe.model.config.preset},
                  {"parameters", with_commas(static_cast<std::int64_t>(parameters))},
                  {"compute", std::string(name_of(context.recipe.options.precision.compute))},
                  {"offload", std::string(name_of(context.recipe.options.parallel.offload))},
                  {"graphs", uses_graphs(context.recipe, context.device) ? "on" : "off"}};
  if (context.options.assume_world) {
    out.settings.emplace_back("assume_world", std::to_string(*context.options.assume_world));
  }
  out.figures = {
      {"tb_s", fmt::format("rate at {:.0f} bytes each", bytes / parameters), rate, "TB/s", ratio},
      {"ms", fmt::format("time, median of {}", context.options.steps), 1e3 * times.median_s, "ms",
       ratio},
      {"host_ms", "host time to submit it", 1e3 * times.host_s, "ms", {}},
      {"peak_bytes",
       "peak memory",
       static_cast<double>(peak_memory_bytes(context.device)),
       "bytes",
       {}}};
  out.step_ms = 1e3 * times.median_s;
  out.notes.emplace_back(
      "The time includes the gradient norm, 4 bytes a parameter more, which the rate does not "
      "count.");
  if (!context.options.phases) return out;
  add_timeline(out, context, profiled(context.device, context.options.profile, call), 1);
  add_rates(out, parameters, context);
  return out;
}

}  // namespace wam
