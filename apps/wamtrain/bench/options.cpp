#include "apps/wamtrain/bench/options.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>

#include "core/base/errors.h"

namespace wam {
namespace {

bool is_file_name(const std::string& id) {
  return !id.empty() && std::all_of(id.begin(), id.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-';
  });
}

bool ends_in_figure(const std::string& id, const std::string& figure) {
  return id == figure || id.ends_with("_" + figure);
}

std::string implied_figure(const std::string& id, BenchWhat what) {
  const std::vector<std::string>& known = figure_names(what);
  std::string longest;
  for (const auto& name : known) {
    if (ends_in_figure(id, name) && name.size() > longest.size()) longest = name;
  }
  return longest.empty() ? known.front() : longest;
}

// Figures that only the profiler knows.
bool is_profiled(const std::string& figure) {
  return figure == "launches" || figure == "idle_share" || figure == "update_tb_s" ||
         figure == "memory_share";
}

bool one_of(BenchWhat what, std::initializer_list<BenchWhat> all) {
  return std::find(all.begin(), all.end(), what) != all.end();
}

// Which options say something to which benchmark.
void check_company(const BenchOptions& o, std::vector<std::string>& problems) {
  const auto refuse = [&](bool given, const char* option, std::initializer_list<BenchWhat> with) {
    if (!given || one_of(o.what, with)) return;
    std::vector<std::string> names;
    for (const BenchWhat what : with) names.emplace_back(name_of(what));
    problems.push_back(
        fmt::format("{} does not go with --what {}. Fix: leave it out, or choose {}.", option,
                    name_of(o.what), join(names, " or ")));
  };
  using enum BenchWhat;
  refuse(o.text_rows.has_value(), "--text-rows", {kModel, kStep, kEncoders});
  refuse(o.assume_world.has_value(), "--assume-world", {kModel, kStep, kOptimizer});
  refuse(o.against_one, "--against-one", {kModel, kStep, kData});
  refuse(!o.save_to.empty(), "--save-to", {kStep});
  refuse(!o.with_encoders, "--no-encoders", {kStep});
  refuse(o.clips.has_value(), "--clips", {kEncoders});
  refuse(o.encoder != BenchEncoder::kAll, "--encoder", {kEncoders});
  refuse(!o.torchvision.empty(), "--torchvision", {kData});
  refuse(o.save, "--save", {kModel, kEncoders, kOptimizer, kComm});
  refuse(!o.profile.empty(), "--profile", {kModel, kEncoders, kStep, kOptimizer, kLoop});
}

void check_ranks(const BenchOptions& o, int ranks, std::vector<std::string>& problems) {
  if (o.what == BenchWhat::kComm && ranks == 1) {
    problems.emplace_back(
        "--what comm: this start has one rank, so there is nothing to measure. Fix: start several, "
        "such as mpirun -np 2 wamtrain bench ...");
  }
  if (o.against_one && ranks == 1 && o.what != BenchWhat::kData) {
    problems.emplace_back(
        "--against-one: this start has one rank, which is alone already. Fix: start several, such "
        "as "
        "mpirun -np 2 wamtrain bench ..., or leave it out.");
  }
  if (o.assume_world && ranks > 1) {
    problems.push_back(fmt::format(
        "--assume-world: it is for one rank without others, and this start has {}. Fix: "
        "leave it out, or start without a launcher.",
        ranks));
  }
  if (ranks > 1 && !one_of(o.what, {BenchWhat::kModel, BenchWhat::kStep, BenchWhat::kComm})) {
    problems.push_back(
        fmt::format("--what {}: it is measured on one rank, and this start has {}. Fix: start it "
                    "without a launcher.",
                    name_of(o.what), ranks));
  }
}

void check_ranges(const BenchOptions& o, std::vector<std::string>& problems) {
  const auto at_least_one = [&](std::int64_t value, const char* option) {
    if (value >= 1) return;
    problems.push_back(
        fmt::format("{} {}: expected at least 1. Fix: give a number.", option, value));
  };
  at_least_one(o.steps, "--steps");
  at_least_one(o.text_rows.value_or(1), "--text-rows");
  at_least_one(o.assume_world.value_or(1), "--assume-world");
  at_least_one(o.clips.value_or(1), "--clips");
  if (!(o.ceiling_seconds >= 0)) {
    problems.push_back(
        fmt::format("--ceiling-seconds {}: expected 0 or more. Fix: give a number of seconds, or 0 "
                    "to leave the card's own rate unmeasured.",
                    o.ceiling_seconds));
  }
  if (!o.phases && !o.profile.empty()) {
    problems.emplace_back(
        "--no-phases and --profile: the trace is of the steps that --no-phases leaves out. Fix: "
        "leave one of them out.");
  }
  if (o.save && o.text_rows) {
    problems.emplace_back(
        "--save and --text-rows: rates are kept for text at its full length. Fix: leave one of "
        "them out.");
  }
  if (!o.json_folder.empty() && o.ids.empty()) {
    problems.emplace_back(
        "--json-dir: a file is named after its figure. Fix: name one with --id, such as --id "
        "5b_mbs1_ms.");
  }
}

}  // namespace

const std::vector<std::string>& figure_names(BenchWhat what) {
  static const std::vector<std::string> kModel{"samples_s",       "ms",
                                               "best_ms",         "forward_ms",
                                               "backward_ms",     "host_ms",
                                               "launches",        "idle_share",
                                               "peak_bytes",      "plan_bytes",
                                               "plan_error",      "memory_share",
                                               "without_ms",      "exposed_share",
                                               "alone_ms",        "efficiency",
                                               "strategy_host_ms"};
  static const std::vector<std::string> kEncoders{"ms",
                                                  "first_frame_ms",
                                                  "image_ms",
                                                  "text_ms",
                                                  "peak_bytes",
                                                  "first_frame_peak_bytes",
                                                  "image_peak_bytes",
                                                  "text_peak_bytes",
                                                  "launches",
                                                  "idle_share"};
  static const std::vector<std::string> kSteps{
      "samples_s",           "ms",       "data_share", "wait_share",    "idle_share",
      "peak_bytes",          "launches", "without_ms", "exposed_share", "over_compute",
      "checkpoint_stall_ms", "alone_ms", "efficiency"};
  static const std::vector<std::string> kOptimizer{
      "tb_s", "ms", "host_ms", "update_tb_s", "peak_bytes", "launches", "idle_share"};
  static const std::vector<std::string> kData{"samples_s",
                                              "ms",
                                              "cores_16",
                                              "alone_samples_s",
                                              "scaling",
                                              "decode_ms",
                                              "ffmpeg_ms",
                                              "decode_ratio",
                                              "transform_ms",
                                              "torchvision_ms",
                                              "transform_ratio",
                                              "decode_samples_s",
                                              "gpu_transform_ratio",
                                              "open_s"};
  static const std::vector<std::string> kComm{"all_gather_gb_s", "reduce_scatter_gb_s",
                                              "all_reduce_gb_s"};
  switch (what) {
    case BenchWhat::kModel:
      return kModel;
    case BenchWhat::kEncoders:
      return kEncoders;
    case BenchWhat::kStep:
    case BenchWhat::kLoop:
      return kSteps;
    case BenchWhat::kOptimizer:
      return kOptimizer;
    case BenchWhat::kData:
      return kData;
    case BenchWhat::kComm:
      return kComm;
  }
  throw InvariantError("a benchmark without figures");
}

std::vector<FigureId> figure_ids(const BenchOptions& options) {
  std::vector<FigureId> out;
  const auto& known = figure_names(options.what);
  for (const auto& text : options.ids) {
    const auto split = text.find('=');
    const std::string id = text.substr(0, split);
    require<ConfigError>(is_file_name(id),
                         "--id {}: expected letters, digits, _ and -, since it names a file. Fix: "
                         "such as 5b_mbs1_ms.",
                         text);
    const std::string figure =
        split == std::string::npos ? implied_figure(id, options.what) : text.substr(split + 1);
    require<ConfigError>(std::find(known.begin(), known.end(), figure) != known.end(),
                         "--id {}: --what {} has no figure {}. Fix: take one of {}.", text,
                         name_of(options.what), figure, join(known));
    require<ConfigError>(options.phases || !is_profiled(figure),
                         "--id {}: {} comes from the profiler. Fix: leave out --no-phases.", text,
                         figure);
    out.push_back({id, figure});
  }
  return out;
}

void check(const BenchOptions& options, int ranks) {
  std::vector<std::string> problems;
  check_ranks(options, ranks, problems);
  check_ranges(options, problems);
  check_company(options, problems);
  if (!problems.empty()) throw ConfigError::of(problems);
  figure_ids(options);
}

}  // namespace wam
