#include <algorithm>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "apps/wamtrain/commands.h"
#include "apps/wamtrain/exit_code.h"
#include "apps/wamtrain/hash_progress.h"
#include "core/base/errors.h"
#include "core/base/format.h"
#include "core/train/checkpoint_list.h"

namespace wam {
namespace {

nlohmann::ordered_json as_json(const ListedCheckpoint& listed) {
  nlohmann::ordered_json out{{"name", listed.entry.name},  {"step", listed.entry.step},
                             {"age_s", listed.age_s},      {"bytes", listed.bytes},
                             {"state", listed.state()},    {"latest", listed.is_latest},
                             {"resume", listed.is_resumed}};
  if (!listed.problem.empty()) out["problem"] = listed.problem;
  return out;
}

void print_json(const std::vector<ListedCheckpoint>& list) {
  auto out = nlohmann::ordered_json::array();
  for (const auto& listed : list) out.push_back(as_json(listed));
  fmt::print("{}\n", out.dump(2));
}

void print_text(const std::vector<ListedCheckpoint>& list) {
  fmt::print("{:>10}  {:>13}  {:>9}  {}\n", "step", "age", "size", "state");
  for (const auto& listed : list) {
    std::string notes;
    if (listed.is_latest) notes += ", latest";
    if (listed.is_resumed) notes += ", train goes on from here";
    if (!listed.problem.empty()) notes += "\n    " + listed.problem;
    fmt::print("{:>10}  {:>13}  {:>9}  {}{}\n", listed.entry.step, human_seconds(listed.age_s),
               human_bytes(static_cast<double>(listed.bytes)), listed.state(), notes);
  }
}

}  // namespace

int checkpoints_command(const CheckpointsArguments& arguments) {
  require<ConfigError>(std::filesystem::is_directory(arguments.run),
                       "checkpoints: there is no folder {}. Fix: give the run.dir of a run.",
                       arguments.run.string());
  const CheckpointFolder folder(arguments.run / "checkpoints");
  std::vector<ListedCheckpoint> list;
  {
    HashProgressLine line;
    list = list_checkpoints(folder, arguments.look, line.show());
  }
  if (arguments.format == OutputFormat::kJson) {
    print_json(list);
  } else if (list.empty()) {
    fmt::print("no checkpoints in {}\n", folder.path().string());
  } else {
    print_text(list);
  }
  const bool damaged = std::any_of(list.begin(), list.end(),
                                   [](const auto& listed) { return !listed.problem.empty(); });
  return damaged ? kExitStopped : kExitOk;
}

}  // namespace wam
