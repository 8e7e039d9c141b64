#include "apps/wamtrain/datasets.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "apps/wamtrain/install.h"
#include "core/base/errors.h"
#include "core/base/format.h"
#include "data/normalise/compute.h"

namespace wam {
namespace {

std::vector<DatasetMember> open_members(const ResolvedRecipe& recipe) {
  std::vector<DatasetMember> members;
  for (const auto& section : recipe.options.data.datasets) {
    DatasetMember member;
    member.embodiment = find_embodiment(section.embodiment, configs_folder() / "embodiment");
    member.reader = std::make_shared<const LeRobotReader>(section.path);
    member.binding = bind(*member.reader, member.embodiment);
    member.weight = section.weight;
    member.held_back_episodes =
        held_back_episodes(recipe.options.data.validation, member.reader->num_episodes());
    members.push_back(std::move(member));
  }
  return members;
}

std::optional<Statistics> entry_of(const std::filesystem::path& file, const std::string& tag) {
  if (!std::filesystem::exists(file)) return std::nullopt;
  auto entries = read_metadata(file);
  const auto found = entries.find(tag);
  if (found == entries.end()) return std::nullopt;
  return std::move(found->second);
}

Statistics compute_for(const std::string& tag, const std::vector<DatasetMember>& members) {
  std::vector<BoundDataset> bound;
  const Embodiment* embodiment = nullptr;
  for (const auto& member : members) {
    if (member.embodiment.tag != tag) continue;
    bound.push_back({member.reader.get(), &member.binding});
    embodiment = &member.embodiment;
  }
  return compute_statistics(bound, *embodiment);
}

Statistics statistics_for(const std::string& tag,
                          const ResolvedRecipe& recipe,
                          RunStart start,
                          const std::vector<DatasetMember>& members,
                          Log& log) {
  const std::string& choice = recipe.options.data.statistics;
  if (choice != "auto" && choice != "compute") {
    log.info(fmt::format("statistics of {}: {}", tag, choice));
    return read_statistics(choice, tag);
  }
  if (choice == "auto" && init_is_folder(recipe.options.model)) {
    const auto file =
        std::filesystem::path(recipe.options.model.init) / "experiment_cfg" / "metadata.json";
    if (auto entry = entry_of(file, tag)) {
      log.info(fmt::format("statistics of {}: {}, which the initial weights expect", tag,
                           file.string()));
      return *entry;
    }
  }
  if (start == RunStart::kResumed) {
    if (auto entry = entry_of(statistics_file(recipe), tag)) {
      log.info(fmt::format("statistics of {}: kept in {}", tag, statistics_file(recipe).string()));
      return *entry;
    }
  }
  log.info(fmt::format("statistics of {}: computed over all episodes, kept in {}", tag,
                       statistics_file(recipe).string()));
  return compute_for(tag, members);
}

}  // namespace

std::filesystem::path statistics_file(const ResolvedRecipe& recipe) {
  return recipe.options.run.dir / "metadata.json";
}

OpenedData open_data(const ResolvedRecipe& recipe, RunStart start, Log& log) {
  auto members = open_members(recipe);
  OpenedData out;
  for (const auto& member : members) {
    const std::string& tag = member.embodiment.tag;
    if (out.statistics.contains(tag)) continue;
    out.statistics[tag] = statistics_for(tag, recipe, start, members, log);
  }
  for (auto& member : members) member.statistics = out.statistics.at(member.embodiment.tag);
  write_metadata(statistics_file(recipe), out.statistics);

  WindowDatasetOptions options;
  options.members = std::move(members);
  options.blocks = recipe.model.config.max_blocks;
  options.view_height = recipe.model.view_height;
  options.view_width = recipe.model.view_width;
  options.state_width = recipe.model.config.state_width;
  options.action_width = recipe.model.config.action_width;
  options.bug_compatible = recipe.options.data.bug_compatible;
  options.seed = recipe.options.run.seed;
  options.scan_threads = std::max<std::int64_t>(1, recipe.data.workers);
  out.splits = open_window_datasets(std::move(options));
  log.info(fmt::format("data: {} windows to train on, {} held back",
                       with_commas(static_cast<std::int64_t>(out.splits.training->size())),
                       out.splits.held_back
                           ? with_commas(static_cast<std::int64_t>(out.splits.held_back->size()))
                           : "none"));
  return out;
}

}  // namespace wam
