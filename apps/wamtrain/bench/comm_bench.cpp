#include "apps/wamtrain/bench/comm_bench.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include <ATen/ops/zeros.h>

#include "apps/wamtrain/bench/timing.h"
#include "apps/wamtrain/install.h"
#include "apps/wamtrain/rates/card_rates.h"
#include "apps/wamtrain/run_device.h"
#include "core/cuda/device.h"
#include "models/wam/parameters.h"

namespace wam {
namespace {

constexpr std::int64_t kSmallest = 1024 * 1024;
constexpr std::int64_t kStep = 4;

std::string type_name(at::ScalarType type) {
  return type == at::kBFloat16 ? "bf16" : fmt::format("fp{}", 8 * at::elementSize(type));
}

struct NamedAxis {
  const char* name;
  Collectives* axis;
};

std::vector<NamedAxis> distinct_axes(const MeshAxes& axes) {
  std::vector<NamedAxis> out{{"world", axes.world.get()}};
  for (const auto& [name, axis] :
       {NamedAxis{"shard", axes.shards.get()}, NamedAxis{"replicate", axes.replicas.get()}}) {
    if (axis != nullptr && axis != axes.world.get()) out.push_back({name, axis});
  }
  return out;
}

// A kind of collective: what it does with a buffer of all ranks, and how often a rank sends it.
struct Operation {
  const char* name;
  const char* figure;
  at::ScalarType type;
  double passes;  // an all-reduce sends every piece twice
  Rate CardRates::*rate;
  std::function<void(Collectives&, at::Tensor& whole, at::Tensor& piece)> run;
};

std::vector<Operation> operations(at::ScalarType weights, at::ScalarType gradients) {
  const std::string what = "a benchmark's values";
  return {
      {"all_gather", "all_gather_gb_s", weights, 1, &CardRates::all_gather_gb_s,
       [=](auto& axis, auto& whole, auto& piece) { axis.all_gather(whole, piece, what); }},
      {"reduce_scatter", "reduce_scatter_gb_s", gradients, 1, &CardRates::reduce_scatter_gb_s,
       [=](auto& axis, auto& whole, auto& piece) { axis.reduce_scatter_sum(piece, whole, what); }},
      {"all_reduce", "all_reduce_gb_s", gradients, 2, &CardRates::all_reduce_gb_s,
       [=](auto& axis, auto& whole, auto& /*piece*/) { axis.all_reduce_sum(whole, what); }}};
}

// The card's rates where there are any: what a link gives inside a node.
std::optional<CardRates> known_rates(const BenchContext& context) {
  const auto& named = context.options.rates;
  const auto file =
      named.empty() ? configs_folder() / "rates" / rates_file_name(describe_device(context.device))
                    : named;
  const LaunchEnv& env = context.ranks.env();
  if (env.local_world_size != env.world_size || !std::filesystem::exists(file)) return {};
  return load_rates(file);
}

class CommBench {
 public:
  explicit CommBench(const BenchContext& context)
      : context_(context),
        operations_(operations(context.type, reduce_type(context.recipe))),
        rates_(known_rates(context)) {
    for (const UnitSpec& unit : wam_units(context.recipe.model.config)) {
      largest_unit_ = std::max(largest_unit_, padded_numel(unit, context.mesh.layout.world));
    }
  }

  BenchResult run() {
    out_.title = "collectives by size, median of " + std::to_string(context_.options.steps);
    const auto& parallel = context_.recipe.options.parallel;
    out_.settings = {{"model", context_.recipe.model.config.preset},
                     {"ranks", std::to_string(context_.mesh.layout.world)},
                     {"strategy", std::string(name_of(parallel.strategy))},
                     {"weights", type_name(context_.type)},
                     {"gradients", type_name(reduce_type(context_.recipe))}};
    for (const NamedAxis& axis : distinct_axes(context_.mesh.axes)) measure(axis);
    out_.notes.emplace_back(
        "algorithm: bytes of the buffer by time. bus: bytes that a rank sends by time, (n - 1)/n "
        "of\n"
        "the buffer, for an all-reduce twice that. link: the same as the rates of this card have "
        "it.");
    return std::move(out_);
  }

 private:
  void measure(const NamedAxis& axis) {
    for (const Operation& operation : operations_) {
      const auto width = static_cast<std::int64_t>(at::elementSize(operation.type));
      for (const std::int64_t bytes : transfer_sizes(width * largest_unit_)) {
        measure(axis, operation, bytes / width);
      }
      if (axis.axis != context_.mesh.axes.world.get()) continue;
      const TransferLine& largest = out_.transfers.back();
      out_.figures.push_back(
          {operation.figure, largest.operation + ", largest, bus", largest.bus_gb_s, "GB/s", {}});
    }
  }

  void measure(const NamedAxis& axis, const Operation& operation, std::int64_t wanted_numel) {
    Collectives& collectives = *axis.axis;
    const int n = collectives.axis_size();
    const std::int64_t piece_numel = (wanted_numel + n - 1) / n;
    at::Tensor whole =
        at::zeros({n * piece_numel}, at::TensorOptions(context_.device).dtype(operation.type));
    at::Tensor piece = whole.narrow(0, piece_numel * collectives.axis_rank(), piece_numel);
    // Several in a row: a launch is not what is asked for.
    const int in_a_row = context_.device.is_cpu() ? 1 : 10;
    const CallTimes times = time_calls(context_.device, context_.options.steps, [&] {
      for (int i = 0; i < in_a_row; ++i) operation.run(collectives, whole, piece);
    });
    const double seconds = times.median_s / in_a_row;
    const auto bytes = static_cast<std::int64_t>(whole.nbytes());
    const double rate = 1e-9 * static_cast<double>(bytes) / seconds;
    TransferLine line{.axis = axis.name,
                      .ranks = n,
                      .operation = operation.name,
                      .bytes = bytes,
                      .ms = 1e3 * seconds,
                      .algorithm_gb_s = rate,
                      .bus_gb_s = rate * operation.passes * (n - 1) / n,
                      .link_gb_s = {}};
    if (rates_ && ((*rates_).*operation.rate).value > 0) {
      line.link_gb_s = ((*rates_).*operation.rate).value;
    }
    out_.transfers.push_back(std::move(line));
  }

  const BenchContext& context_;
  std::vector<Operation> operations_;
  std::optional<CardRates> rates_;
  std::int64_t largest_unit_ = 0;  // elements
  BenchResult out_;
};

}  // namespace

std::vector<std::int64_t> transfer_sizes(std::int64_t largest) {
  std::vector<std::int64_t> out;
  for (std::int64_t bytes = kSmallest; bytes < largest; bytes *= kStep) out.push_back(bytes);
  out.push_back(largest);
  return out;
}

BenchResult bench_comm(const BenchContext& context) {
  return CommBench(context).run();
}

}  // namespace wam
