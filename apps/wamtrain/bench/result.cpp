#include "apps/wamtrain/bench/result.h"

#include <algorithm>
#include <string_view>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "core/base/errors.h"
#include "core/base/format.h"

namespace wam {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kShownKernels = 25;

std::string amount(double value, std::string_view unit) {
  if (unit == "bytes") return human_bytes(value);
  if (unit == "share") return fmt::format("{:.2f} %", 100 * value);
  if (unit == "launches") return with_commas(static_cast<std::int64_t>(value));
  const int digits = value >= 100 ? 1 : value >= 1 ? 2 : 3;
  return fmt::format("{:.{}f} {}", value, digits, unit);
}

std::string shortened(const std::string& text, std::size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 3) + "...";
}

std::string settings_text(const BenchResult& result) {
  std::string out;
  for (const auto& [name, value] : result.settings) {
    if (!out.empty()) out += ", ";
    out += name + " " + value;
  }
  return out;
}

// The same, as lines of a terminal.
std::string settings_lines(const BenchResult& result) {
  constexpr std::size_t kColumns = 96;
  std::string out;
  std::string line;
  for (const auto& [name, value] : result.settings) {
    const std::string setting = name + " " + value;
    if (!line.empty() && line.size() + 2 + setting.size() > kColumns) {
      out += fmt::format("  {},\n", line);
      line.clear();
    }
    line += (line.empty() ? "" : ", ") + setting;
  }
  return out + fmt::format("  {}\n", line);
}

std::string cell(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "";
}

// Of the card's rate that belongs to the phase: copies for what is counted in bytes.
std::optional<double> phase_ratio(const StepPart& phase, const std::optional<Ceilings>& ceilings) {
  if (phase.tflops) return share_of(*phase.tflops, ceilings, &Ceilings::matmul_tflops);
  if (phase.tb_s) return share_of(*phase.tb_s, ceilings, &Ceilings::copy_tb_s);
  return std::nullopt;
}

std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f} %", 100 * *share) : "";
}

std::string phases_text(const BenchResult& result, const BenchOrigin& origin) {
  if (result.phases.empty()) return "";
  std::string out = fmt::format("\n{:<30}{:>10}{:>9}{:>10}{:>8}{:>12}\n", "phase", "ms", "of step",
                                "TFLOP/s", "TB/s", "of the card");
  for (const StepPart& phase : result.phases) {
    out += fmt::format("{:<30}{:>10.3f}{:>9}{:>10}{:>8}{:>12}\n", phase.name, phase.ms,
                       percent(phase.ms / result.step_ms), cell(phase.tflops, 1),
                       cell(phase.tb_s, 2), percent(phase_ratio(phase, origin.ceilings)));
  }
  return out;
}

std::string kernels_text(const BenchResult& result) {
  if (result.kernels.empty()) return "";
  std::string out = fmt::format("\n{:>10}{:>9}{:>10}  {}\n", "ms", "of step", "launches", "kernel");
  const std::size_t shown = std::min(result.kernels.size(), kShownKernels);
  for (std::size_t i = 0; i < shown; ++i) {
    const KernelLine& line = result.kernels[i];
    out += fmt::format("{:>10.3f}{:>9}{:>10.1f}  {}\n", line.ms, percent(line.ms / result.step_ms),
                       line.launches, shortened(line.name, 68));
  }
  if (shown == result.kernels.size()) return out;
  return out +
         fmt::format("{:>10}{:>9}{:>10}  and {} more\n", "", "", "", result.kernels.size() - shown);
}

std::string transfers_text(const BenchResult& result) {
  if (result.transfers.empty()) return "";
  std::string out =
      fmt::format("\n{:<10}{:>6}  {:<15}{:>12}{:>11}{:>16}{:>10}{:>13}\n", "axis", "ranks",
                  "collective", "size", "ms", "algorithm GB/s", "bus GB/s", "link GB/s");
  for (const TransferLine& line : result.transfers) {
    out += fmt::format("{:<10}{:>6}  {:<15}{:>12}{:>11.3f}{:>16.2f}{:>10.2f}{:>13}\n", line.axis,
                       line.ranks, line.operation, human_bytes(static_cast<double>(line.bytes)),
                       line.ms, line.algorithm_gb_s, line.bus_gb_s, cell(line.link_gb_s, 1));
  }
  return out;
}

Json ceiling_json(const std::optional<Ceilings>& ceilings) {
  if (!ceilings) return nullptr;
  return {{"matmul_tflops", ceilings->matmul_tflops}, {"copy_tb_s", ceilings->copy_tb_s}};
}

Json maybe(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json figures_json(const BenchResult& result) {
  Json out = Json::object();
  for (const Figure& f : result.figures) {
    out[f.name] = {
        {"title", f.title}, {"value", f.value}, {"unit", f.unit}, {"ratio", maybe(f.ratio)}};
  }
  return out;
}

// What both forms end in.
void add_rest(Json& out, const BenchResult& result, const BenchOrigin& origin) {
  out["card"] = origin.card;
  out["program"] = origin.program;
  out["commit"] = origin.commit;
  out["command"] = origin.command;
  out["recipe_hash"] = origin.recipe_hash;
  out["settings"] = Json::object();
  for (const auto& [name, value] : result.settings) out["settings"][name] = value;
  out["figures"] = figures_json(result);
  out["phases"] = Json::array();
  for (const StepPart& phase : result.phases) {
    out["phases"].push_back({{"name", phase.name},
                             {"ms", phase.ms},
                             {"share", phase.ms / result.step_ms},
                             {"tflops", maybe(phase.tflops)},
                             {"tb_s", maybe(phase.tb_s)},
                             {"ratio", maybe(phase_ratio(phase, origin.ceilings))}});
  }
  for (const KernelLine& line : result.kernels) {
    out["kernels"].push_back({{"name", line.name}, {"launches", line.launches}, {"ms", line.ms}});
  }
  for (const TransferLine& line : result.transfers) {
    out["transfers"].push_back({{"axis", line.axis},
                                {"ranks", line.ranks},
                                {"operation", line.operation},
                                {"bytes", line.bytes},
                                {"ms", line.ms},
                                {"algorithm_gb_s", line.algorithm_gb_s},
                                {"bus_gb_s", line.bus_gb_s},
                                {"link_gb_s", maybe(line.link_gb_s)}});
  }
  if (!result.notes.empty()) out["notes"] = result.notes;
}

}  // namespace

const Figure& BenchResult::figure(const std::string& name) const {
  for (const Figure& f : figures) {
    if (f.name == name) return f;
  }
  throw ConfigError(
      fmt::format("--id: {} was not measured in this run. Fix: leave out what kept it from it "
                  "(--no-phases, --encoder, the CPU), give what it needs (--torchvision, "
                  "data.transform_on), or take another figure.",
                  name));
}

std::string bench_text(const BenchResult& result, const BenchOrigin& origin) {
  std::string out = fmt::format("{} on {}\n{}\n{}\n", origin.program, origin.card, result.title,
                                settings_lines(result));
  for (const Figure& f : result.figures) {
    const std::string of_card =
        f.ratio ? fmt::format("   {:.3f} of the card's own rate", *f.ratio) : "";
    out += fmt::format("{:<34}{:>18}{}\n", f.title, amount(f.value, f.unit), of_card);
  }
  if (origin.ceilings) {
    out += fmt::format("{:<34}{:>18}\n{:<34}{:>18}\n", "the card: matrix product, bf16",
                       amount(origin.ceilings->matmul_tflops, "TFLOP/s"), "the card: copy",
                       amount(origin.ceilings->copy_tb_s, "TB/s"));
  }
  out += phases_text(result, origin) + kernels_text(result) + transfers_text(result);
  for (const auto& note : result.notes) out += "\n" + note + "\n";
  return out;
}

std::string bench_json(const BenchResult& result, const BenchOrigin& origin) {
  Json out{{"what", result.title}, {"ceiling", ceiling_json(origin.ceilings)}};
  add_rest(out, result, origin);
  return out.dump();
}

std::string figure_json(const FigureId& id, const BenchResult& result, const BenchOrigin& origin) {
  const Figure& f = result.figure(id.figure);
  Json out{{"id", id.id},
           {"name", fmt::format("{}: {} ({})", result.title, f.title, settings_text(result))},
           {"value", f.value},
           {"unit", f.unit},
           {"ceiling", ceiling_json(origin.ceilings)},
           {"ratio", maybe(f.ratio)}};
  add_rest(out, result, origin);
  return out.dump(2) + "\n";
}

}  // namespace wam
