#include <algorithm>
#include <cstdio>
#include <string>

#include <fmt/core.h>

#include "apps/wamtrain/commands.h"
#include "apps/wamtrain/exit_code.h"
#include "apps/wamtrain/install.h"
#include "core/base/errors.h"
#include "core/base/names.h"
#include "core/io/atomic_file.h"
#include "data/embodiment/binding.h"
#include "data/embodiment/draft.h"
#include "data/embodiment/known_robots.h"

namespace wam {
namespace {

constexpr std::int64_t kBlocks = 4;  // of a sample, in the presets
constexpr std::int64_t kStateValues = 64;
constexpr std::int64_t kActionValues = 32;

Embodiment find_like(const std::string& name) {
  if (auto robot = known_robot(name)) return *std::move(robot);
  const auto folder = configs_folder() / "embodiment";
  if (name.find('/') == std::string::npos && !name.ends_with(".yaml")) {
    auto names = embodiment_names(folder);
    const auto robots = known_robot_names();
    names.insert(names.end(), robots.begin(), robots.end());
    const auto nearest = nearest_name(name, names);
    require<ConfigError>(std::find(names.begin(), names.end(), name) != names.end(),
                         "embodiment new --like: found {}, expected one of {}. Fix: {}.", name,
                         join(names), nearest ? "write " + *nearest : "leave it out");
  }
  return find_embodiment(name, folder);
}

// False where none is long enough.
bool print_episodes(const LeRobotReader& reader, const Embodiment& e) {
  const std::int64_t spacing = e.video_offsets[1] - e.video_offsets[0];
  const std::int64_t needed = (kBlocks - 1) * e.macro_stride +
                              std::max(e.action_horizon, e.video_offsets.back() + spacing + 1);
  std::int64_t long_enough = 0;
  for (std::int64_t i = 0; i < reader.num_episodes(); ++i) {
    if (reader.episode_length(i) >= needed) ++long_enough;
  }
  fmt::print("  {} of {} episodes have the {} frames of a sample of {} blocks\n", long_enough,
             reader.num_episodes(), needed, kBlocks);
  if (long_enough > 0) return true;
  fmt::print(stderr,
             "embodiment new: the record does not fit the dataset yet: no episode has {} frames. "
             "Fix: lower action_horizon, macro_stride and video_offsets together in the record, or "
             "train with fewer blocks (model.blocks).\n",
             needed);
  return false;
}

// Whether the record is one that this dataset can be trained with.
bool check(const LeRobotReader& reader, const Embodiment& e) {
  try {
    const Binding binding = bind(reader, e);
    require<DataError>(
        binding.state_width() <= kStateValues && binding.action_width() <= kActionValues,
        "the keys have {} state and {} action values, and a model takes {} and {}. "
        "Fix: leave keys out of state_keys or action_keys",
        binding.state_width(), binding.action_width(), kStateValues, kActionValues);
    return true;
  } catch (const DataError& error) {
    fmt::print(stderr, "embodiment new: the record does not fit the dataset yet: {}\n",
               error.what());
    return false;
  }
}

}  // namespace

int new_embodiment_command(const NewEmbodimentArguments& arguments) {
  const LeRobotReader reader(arguments.dataset);
  const auto like =
      arguments.like.empty() ? std::nullopt : std::optional<Embodiment>(find_like(arguments.like));
  const EmbodimentDraft draft = draft_embodiment(reader.meta(), like ? &*like : nullptr);
  const auto file =
      arguments.out.empty() ? std::filesystem::path(draft.record.tag + ".yaml") : arguments.out;
  require<ConfigError>(!std::filesystem::exists(file),
                       "embodiment new: {} exists. Fix: write another --out.", file.string());
  write_file_atomically(file, record_text(draft));
  const Embodiment written = read_embodiment(file);
  fmt::print("written: {}, a first record for {}\n", file.string(), reader.meta().name());
  for (const auto& note : draft.notes) fmt::print("  {}\n", note);
  const bool has_windows = print_episodes(reader, written);
  std::fflush(stdout);
  return check(reader, written) && has_windows ? kExitOk : kExitStopped;
}

}  // namespace wam
