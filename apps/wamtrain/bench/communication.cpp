#include "apps/wamtrain/bench/communication.h"

#include "parallel/mesh/mesh.h"

namespace wam {

void add_communication(BenchResult& out,
                       const BenchContext& context,
                       const StepCost& measured,
                       const std::function<StepCost(const BenchMesh& mesh)>& measure) {
  const LaunchEnv& env = context.ranks.env();
  if (env.world_size == 1) return;
  context.log.info("the same without collectives");
  BenchMesh absent = context.mesh;
  absent.axes = absent_mesh(absent.layout, env.global_rank);
  const StepCost without = measure(absent);
  const double exposed_s = measured.step_s - without.step_s;
  out.figures.push_back({"without_ms", "without collectives", 1e3 * without.step_s, "ms", {}});
  out.figures.push_back(
      {"exposed_share", "exposed communication", exposed_s / measured.step_s, "share", {}});
  if (without.compute_s > 0) {
    out.figures.push_back({"over_compute",
                           "step / forward + backward without others",
                           measured.step_s / without.compute_s,
                           "times",
                           {}});
  }
  if (!context.options.against_one) return;
  context.log.info("the part of one rank, alone");
  const StepCost alone = measure(BenchMesh{});
  out.figures.push_back({"alone_ms", "the part of one rank, alone", 1e3 * alone.step_s, "ms", {}});
  out.figures.push_back({"efficiency",
                         fmt::format("rate / {} times one alone", env.world_size),
                         alone.step_s / measured.step_s,
                         "share",
                         {}});
  if (measured.host_s > 0) {
    out.figures.push_back({"strategy_host_ms",
                           "host time of the strategy, micro-step",
                           1e3 * (measured.host_s - alone.host_s),
                           "ms",
                           {}});
  }
}

}  // namespace wam
