#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/wamtrain/bench/ceilings.h"
#include "apps/wamtrain/bench/options.h"

namespace wam {

// One number of a benchmark.
struct Figure {
  std::string name;   // of figure_names
  std::string title;  // for people: "median of 10"
  double value = 0;
  // ms, samples/s, TFLOP/s, TB/s, GB/s, times, share (0 to 1), bytes or launches.
  std::string unit;
  std::optional<double> ratio;  // to the card's own rate
};

// A part of the step, or a kind of kernels.
struct StepPart {
  std::string name;
  double ms = 0;  // of one step
  std::optional<double> tflops;
  std::optional<double> tb_s;
};

// One kernel in the profiled steps.
struct KernelLine {
  std::string name;
  double launches = 0;  // of one step
  double ms = 0;        // of one step
};

// A collective over buffers of one size.
struct TransferLine {
  std::string axis;  // of the mesh
  int ranks = 1;     // on it
  std::string operation;
  std::int64_t bytes = 0;  // of the whole buffer
  double ms = 0;
  double algorithm_gb_s = 0;        // bytes / time
  double bus_gb_s = 0;              // what one rank sends / time
  std::optional<double> link_gb_s;  // the latter as the card's rates have it
};

// What a benchmark found, for people and for scripts.
struct BenchResult {
  std::string title;                                          // "transformer, forward + backward"
  std::vector<std::pair<std::string, std::string>> settings;  // "micro_batch", "8"
  std::vector<Figure> figures;
  double step_ms = 0;  // what the phases are shares of
  std::vector<StepPart> phases;
  std::vector<KernelLine> kernels;  // the longest first
  std::vector<TransferLine> transfers;
  std::vector<std::string> notes;

  // Errors: ConfigError when this run did not measure it.
  [[nodiscard]] const Figure& figure(const std::string& name) const;
};

// Where and how a result came about.
struct BenchOrigin {
  std::string program;  // version_line()
  std::string card;
  std::int64_t memory_bytes = 0;  // of it
  std::string commit;
  std::string command;
  std::string recipe_hash;
  std::optional<Ceilings> ceilings;
};

// A table for a terminal.
std::string bench_text(const BenchResult& result, const BenchOrigin& origin);
// Everything, as one JSON object.
std::string bench_json(const BenchResult& result, const BenchOrigin& origin);
// The same around one figure: id, name, value, unit, ceiling, ratio, ... Indented: it is a file.
std::string figure_json(const FigureId& id, const BenchResult& result, const BenchOrigin& origin);

}  // namespace wam
