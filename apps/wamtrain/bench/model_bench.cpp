#include "apps/wamtrain/bench/model_bench.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>

#include "apps/wamtrain/bench/communication.h"
#include "apps/wamtrain/bench/model_work.h"
#include "apps/wamtrain/bench/profiler.h"
#include "apps/wamtrain/bench/synthetic.h"
#include "apps/wamtrain/bench/timing.h"
#include "apps/wamtrain/bench/units.h"
#include "apps/wamtrain/run_device.h"
#include "core/cuda/device.h"
#include "core/cuda/graph.h"
#include "models/wam/memory.h"
#include "models/wam/step_graphs.h"

namespace wam {
namespace {

constexpr std::int64_t kProfiledSteps = 3;

class ModelBench {
 public:
  ModelBench(const BenchContext& context, const BenchMesh& mesh)
      : context_(context),
        mesh_(mesh),
        samples_(context.recipe.train.options.micro_batch),
        attention_(make_attention_engine(
            context.device, context.type, context.recipe.options.precision.deterministic)),
        dit_(context.recipe.model.config, context.recipe.options.memory.plan(), attention_.get()),
        units_(make_bench_units(dit_.units(), context.units(HoldsState::kNo, mesh))),
        schedule_(flow_schedule(context.device)),
        batch_(synthetic_encoded(context.recipe.model.config,
                                 samples_,
                                 context.text_rows(),
                                 context.device,
                                 context.type)) {
    std::vector<std::uint64_t> ordinals(static_cast<std::size_t>(samples_));
    std::iota(ordinals.begin(), ordinals.end(), 0);
    draws_ = make_draws(1, ordinals, batch_.latent_BCFYX.sizes().slice(1).vec(),
                        batch_.action_BPA.sizes().slice(1).vec(), context.device);
  }

  // One figure alone; `run` gives them all.
  StepCost cost() {
    const CallTimes step = time_step();
    return {.step_s = step.median_s, .host_s = step.host_s};
  }

  BenchResult run() {
    const CallTimes step = time_step();
    Timeline timeline;
    const std::int64_t profiled_steps = std::min(kProfiledSteps, context_.options.steps);
    if (context_.options.phases) {
      timeline = profiled(context_.device, context_.options.profile, [&] {
        for (std::int64_t i = 0; i < profiled_steps; ++i) submit();
      });
    }
    graphs_.reset();  // their memory is for the forward alone now
    const CallTimes forward = time_forward();

    BenchResult out;
    out.title = "transformer, forward + backward";
    out.settings = model_settings(context_);
    out.step_ms = 1e3 * step.median_s;
    add_speed(out, step);
    add_memory(out);
    if (context_.options.phases) add_timeline(out, context_, timeline, profiled_steps);
    add_rates(out);
    add_passes(out, forward, step);
    return out;
  }

 private:
  void submit() {
    units_->begin_micro_step(true);
    const double weight = 1.0 / static_cast<double>(samples_);
    if (graphs_) {
      graphs_->run(batch_, draws_, *units_, weight);
    } else {
      training_step(dit_, batch_, draws_, schedule_, *units_, loss_weight(weight, batch_.text_BMD));
    }
  }

  CallTimes time_step() {
    if (uses_graphs(context_.recipe, context_.device)) {
      graphs_ = std::make_unique<StepGraphs>(dit_, schedule_, context_.device,
                                             context_.ranks.graph_observer());
    }
    units_->begin_step();
    reset_peak_memory(context_.device);
    const CallTimes times =
        time_calls(context_.device, context_.options.steps, [this] { submit(); });
    peak_bytes_ = peak_memory_bytes(context_.device);
    return times;
  }

  // Without what backward needs; as a graph where the step is one.
  CallTimes time_forward() {
    const auto work = [this] { evaluation_step(dit_, batch_, draws_, schedule_, *units_); };
    if (!uses_graphs(context_.recipe, context_.device)) {
      return time_calls(context_.device, context_.options.steps, work);
    }
    GraphPool pool(context_.device, context_.ranks.graph_observer());
    DeviceGraph graph(pool, "the forward", work);
    return time_calls(context_.device, context_.options.steps, [&] { graph.replay(); });
  }

  [[nodiscard]] MicroBatchShape shape() const {
    return {.samples = samples_,
            .blocks = context_.recipe.model.config.max_blocks,
            .text_rows = context_.text_rows(),
            .compute_type = context_.type};
  }
  [[nodiscard]] ModelWork work() const {
    return model_work(context_.recipe.model.config, shape(), context_.recipe.options.memory.plan());
  }

  void add_speed(BenchResult& out, const CallTimes& step) const {
    const ModelWork work = this->work();
    const double tflops = 1e-12 * work.flops / step.median_s;
    // Those of all ranks, where there are others.
    const auto all_samples = static_cast<double>(samples_ * context_.ranks.env().world_size);
    const auto ratio = share_of(tflops, context_.ceilings, &Ceilings::matmul_tflops);
    out.figures = {{"samples_s", "rate", all_samples / step.median_s, "samples/s", ratio},
                   {"ms", fmt::format("time, median of {}", context_.options.steps),
                    1e3 * step.median_s, "ms", ratio},
                   {"best_ms", "time, best", 1e3 * step.best_s, "ms", {}},
                   {"host_ms", "host time to submit it", 1e3 * step.host_s, "ms", {}}};
    out.notes.push_back(fmt::format(
        "{:.4g} TFLOP a sample, {}; recomputation does not count: {:.1f} model TFLOP/s.",
        1e-12 * work.flops / static_cast<double>(samples_),
        work.is_fixed ? "the fixed number of this preset" : "as models/wam/flops.h counts",
        tflops));
  }

  // On the CPU the peak is that of the process, which says nothing about a step.
  void add_memory(BenchResult& out) const {
    const WamConfig& config = context_.recipe.model.config;
    const auto predicted = static_cast<double>(
        planned_bytes(dit_.units(), context_.units(HoldsState::kNo, mesh_)) +
        activation_bytes(config, shape(), context_.recipe.options.memory.plan()));
    const auto peak = static_cast<double>(peak_bytes_);
    out.figures.push_back({"peak_bytes", "peak memory", peak, "bytes", {}});
    out.figures.push_back({"plan_bytes", "plan: units + activations", predicted, "bytes", {}});
    if (context_.device.is_cpu()) return;
    out.figures.push_back({"plan_error", "measured above plan", peak / predicted - 1, "share", {}});
  }

  // What each class of kernels achieves.
  void add_rates(BenchResult& out) const {
    const ModelWork work = this->work();
    double memory_bound_ms = 0;
    const auto rate = [](double amount, double ms) { return 1e-9 * amount / ms; };
    for (StepPart& phase : out.phases) {
      const auto is = [&](KernelClass kind) { return phase.name == name_of(kind); };
      if (is(KernelClass::kMatrix))
        phase.tflops = rate(work.flops - work.attention_flops, phase.ms);
      if (is(KernelClass::kAttention)) phase.tflops = rate(work.attention_flops, phase.ms);
      for (const auto& [kind, bytes] : work.bytes) {
        if (is(kind)) phase.tb_s = rate(bytes, phase.ms);
      }
      if (!phase.tflops) memory_bound_ms += phase.ms;
    }
    if (out.phases.empty()) return;
    out.figures.push_back({"memory_share",
                           "all kernels but products, attention",
                           memory_bound_ms / out.step_ms,
                           "share",
                           {}});
  }

  void add_passes(BenchResult& out, const CallTimes& forward, const CallTimes& step) const {
    const double gigaflop = 1e-9 * work().flops / 3;  // of the forward
    const double forward_ms = 1e3 * forward.median_s;
    const double backward_ms = std::max(0.0, 1e3 * step.median_s - forward_ms);
    out.figures.push_back({"forward_ms", "forward alone", forward_ms, "ms", {}});
    out.figures.push_back({"backward_ms", "backward (the rest)", backward_ms, "ms", {}});
    const auto rate = [](double work, double ms) {
      return ms > 0 ? std::optional(work / ms) : std::nullopt;
    };
    out.phases.insert(out.phases.begin(),
                      {{"forward", forward_ms, rate(gigaflop, forward_ms), {}},
                       {"backward", backward_ms, rate(2 * gigaflop, backward_ms), {}}});
  }

  const BenchContext& context_;
  const BenchMesh& mesh_;
  std::int64_t samples_;
  std::unique_ptr<AttentionEngine> attention_;
  Dit dit_;
  std::unique_ptr<Sharding> units_;
  FlowSchedule schedule_;
  EncodedBatch batch_;
  Draws draws_;
  std::unique_ptr<StepGraphs> graphs_;
  std::int64_t peak_bytes_ = 0;
};

}  // namespace

BenchResult bench_model(const BenchContext& context) {
  BenchResult out = ModelBench(context, context.mesh).run();
  const StepCost cost{.step_s = 1e-3 * out.figure("ms").value,
                      .host_s = 1e-3 * out.figure("host_ms").value};
  add_communication(out, context, cost,
                    [&](const BenchMesh& mesh) { return ModelBench(context, mesh).cost(); });
  return out;
}

}  // namespace wam
