#include <algorithm>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "apps/wamtrain/predict/predict.h"
#include "core/base/format.h"
#include "core/base/names.h"

namespace wam {
namespace {

constexpr std::size_t kColumns = 98;

double gib(std::int64_t bytes) {
  return static_cast<double>(bytes) / (1024.0 * 1024.0 * 1024.0);
}

const char* reduce_word(const Spread& spread) {
  return spread.gpus == 1 ? "-" : spread.reduces_each ? "each" : "last";
}

const char* place_word(const Spread& spread) {
  return spread.weights_on_host ? "host+" : spread.state_on_host ? "host" : "GPU";
}

std::string heading(const Prediction& p) {
  const Cluster& c = p.cluster;
  std::string where = fmt::format("{} x {}", c.gpus, p.card);
  if (c.nodes > 1) {
    where += fmt::format(", {} nodes of {}, {:g} GB/s between them for each GPU", c.nodes,
                         c.gpus / c.nodes, *c.link_gb_s);
  }
  return where + fmt::format(
                     "\na step: {} samples a GPU in {} micro-steps of up to {}; activations {:.1f} "
                     "GiB, encoders {:.1f} GiB\n",
                     p.samples_of_gpu, p.micro_steps, p.micro_batch, gib(p.activation_bytes),
                     gib(p.encoder_bytes));
}

std::string times(const StrategyPrediction& one, const Prediction& p) {
  if (!one.step) return fmt::format("{:>9}{:>8}{:>9}", "-", "-", "-");
  const auto rate = [](double samples_s) {
    return fmt::format("{:.{}f}", samples_s, samples_s < 10 ? 2 : samples_s < 1000 ? 1 : 0);
  };
  return fmt::format("{:>7.1f} %{:>8}{:>9}", 100 * one.step->exposed_s() / one.step->total_s(),
                     rate(one.samples_s / static_cast<double>(p.cluster.gpus)),
                     rate(one.samples_s));
}

std::string line(const StrategyPrediction& one, const Prediction& p) {
  const char* fits = !p.fits(one) ? "NO" : p.is_tight(one) ? "tight" : "yes";
  return fmt::format("{}{:<14}{:<7}{:<5}{:>8.1f}{:>8.1f}{:>8.1f}{:>8.1f}  {:<5}{:>8.1f}{}\n",
                     one.is_of_recipe ? "*" : " ", one.strategy, reduce_word(one.spread),
                     place_word(one.spread), gib(one.memory.weights), gib(one.memory.gradients),
                     gib(one.memory.optimizer), gib(one.total_bytes), fits,
                     1e-9 * one.traffic.total(), times(one, p));
}

std::string table(const Prediction& p) {
  std::string out =
      fmt::format("\n {:<14}{:<7}{:<5}{:>8}{:>8}{:>8}{:>8}  {:<5}{:>8}{:>9}{:>8}{:>9}\n", "",
                  "reduce", "state", "weights", "grad.", "optim.", "total", "", "traffic",
                  "exposed", "samples", "samples") +
      fmt::format(" {:<14}{:<7}{:<5}{:>8}{:>8}{:>8}{:>8}  {:<5}{:>8}{:>9}{:>8}{:>9}\n", "strategy",
                  "after", "on", "GiB", "GiB", "GiB", "GiB", "fits", "GB/step", "of step", "/s/GPU",
                  "/s");
  for (const auto& one : p.strategies) out += line(one, p);
  const bool has_own = std::any_of(p.strategies.begin(), p.strategies.end(),
                                   [](const auto& one) { return one.is_of_recipe; });
  if (has_own) out += "* as the recipe has it\n";
  const bool some_upload = std::any_of(p.strategies.begin(), p.strategies.end(),
                                       [](const auto& o) { return o.spread.weights_on_host; });
  if (some_upload) out += "host+: and the weights of the blocks\n";
  return out;
}

// The row of the table in words: "full_shard, reduce last, offload optimizer".
std::string row_name(const StrategyPrediction& one) {
  std::string out = one.strategy;
  if (one.spread.gpus > 1) out += fmt::format(", reduce {}", reduce_word(one.spread));
  if (one.spread.weights_on_host) {
    out += ", offload optimizer+params";
  } else if (one.spread.state_on_host) {
    out += ", offload optimizer";
  }
  return out;
}

// Strategies that fit in none of their forms.
std::string too_large(const Prediction& p) {
  std::vector<std::string> names;
  for (const auto& one : p.strategies) {
    const bool some_fit = std::any_of(p.strategies.begin(), p.strategies.end(), [&](const auto& o) {
      return o.strategy == one.strategy && p.fits(o);
    });
    if (!some_fit && (names.empty() || names.back() != one.strategy)) names.push_back(one.strategy);
  }
  return join(names);
}

std::string where_time_goes(const StepTime& step) {
  return fmt::format(
      "step {:.3f} s: encoders {:.3f}, compute {:.3f}, exposed communication {:.3f}, optimizer "
      "{:.3f}",
      step.total_s(), step.encoders_s, step.compute_s, step.exposed_s(), step.optimizer_s);
}

std::string nothing_fits(const Prediction& p) {
  const auto smallest =
      std::min_element(p.strategies.begin(), p.strategies.end(),
                       [](const auto& a, const auto& b) { return a.total_bytes < b.total_bytes; });
  std::string out =
      fmt::format("nothing fits {:.1f} GiB. The smallest: {}, {:.1f} GiB. Fix: ", gib(p.card_bytes),
                  row_name(*smallest), gib(smallest->total_bytes));
  if (p.first_blocks > 0) out += fmt::format("memory.first_blocks: {}, or ", p.first_blocks);
  return wrapped(out + "a smaller train.micro_batch, memory.recompute: full, more GPUs", kColumns);
}

std::string verdict(const Prediction& p) {
  const StrategyPrediction* best = nullptr;
  for (const auto& one : p.strategies) {
    if (p.fits(one) && (best == nullptr || one.samples_s > best->samples_s)) best = &one;
  }
  if (best == nullptr) return nothing_fits(p);
  std::string out;
  const auto say = [&](const std::string& text) { out += wrapped(text, kColumns); };
  if (const std::string names = too_large(p); !names.empty()) {
    say(fmt::format("does not fit {:.1f} GiB: {}", gib(p.card_bytes), names));
  }
  if (best->step) {
    say(fmt::format("fastest that fits: {}", row_name(*best)));
    say(where_time_goes(*best->step));
  }
  if (best->memory.host > 0) {
    say(fmt::format("host memory of a node for it: {:.1f} GiB", gib(best->memory.host)));
  }
  return out;
}

}  // namespace

std::string prediction_text(const Prediction& p) {
  std::string out = heading(p) + table(p) + "\n" + verdict(p) + "\n";
  for (const std::string& note : p.notes) out += wrapped(note, kColumns);
  return out;
}

}  // namespace wam
