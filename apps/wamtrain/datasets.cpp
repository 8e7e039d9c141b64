#include "apps/wamtrain/datasets.h"

#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "apps/wamtrain/dataset_checks.h"
#include "apps/wamtrain/index_progress.h"
#include "apps/wamtrain/install.h"
#include "apps/wamtrain/statistics_progress.h"
#include "core/base/errors.h"
#include "core/base/format.h"
#include "data/lerobot/open_files.h"
#include "data/normalise/compute.h"
#include "data/normalise/settle.h"

namespace wam {
namespace {

std::optional<Statistics> entry_of(const std::filesystem::path& file, const std::string& tag) {
  if (!std::filesystem::exists(file)) return std::nullopt;
  auto entries = read_metadata(file);
  const auto found = entries.find(tag);
  if (found == entries.end()) return std::nullopt;
  return std::move(found->second);
}

std::int64_t episodes_of(const std::string& tag, const std::vector<DatasetMember>& members) {
  std::int64_t episodes = 0;
  for (const auto& member : members) {
    if (member.embodiment.tag == tag) episodes += member.reader->num_episodes();
  }
  return episodes;
}

Statistics compute_for(const std::string& tag,
                       const std::vector<DatasetMember>& members,
                       const ResolvedRecipe& recipe,
                       Log& log) {
  std::vector<BoundDataset> bound;
  const Embodiment* embodiment = nullptr;
  for (const auto& member : members) {
    if (member.embodiment.tag != tag) continue;
    bound.push_back({member.reader.get(), &member.binding});
    embodiment = &member.embodiment;
  }
  // Windows with such rows are replaced as well.
  const bool skips = recipe.options.data.on_bad_sample == OnBadSample::kSkip;
  const NotFinite values = skips ? NotFinite::kLeftOut : NotFinite::kRefused;
  return compute_statistics(bound, *embodiment, compute_options(tag, recipe.threads, values, log))
      .statistics;
}

Statistics statistics_for(const std::string& tag,
                          const ResolvedRecipe& recipe,
                          const std::map<std::string, Statistics>& saved,
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
  if (const auto kept = saved.find(tag); kept != saved.end()) {
    log.info(fmt::format("statistics of {}: those of the checkpoint", tag));
    return kept->second;
  }
  log.info(fmt::format("statistics of {}: computed over the {} episodes in use, kept in {}", tag,
                       with_commas(episodes_of(tag, members)), statistics_file(recipe).string()));
  return compute_for(tag, members, recipe, log);
}

// With the index kept, and what the user should know of each dataset said.
WindowDatasetOptions options_to_open(const ResolvedRecipe& recipe, Log& log) {
  WindowDatasetOptions options = dataset_options(recipe);
  options.index = index_options(recipe.index_cache, true, log);
  for (const auto& member : options.members) {
    for (const auto& note : member.reader->meta().notes) {
      log.info(fmt::format("data: {}: {}", member.reader->meta().name(), note));
    }
  }
  return options;
}

DatasetSplits open_splits(WindowDatasetOptions options, Log& log) {
  DatasetSplits splits = open_window_datasets(std::move(options));
  for (const auto& note : splits.notes) log.info("data: " + note);
  const auto count = [](const WindowDataset* data) {
    return data == nullptr ? "none" : with_commas(static_cast<std::int64_t>(data->size()));
  };
  log.info(fmt::format("data: {} windows to train on, {} held back", count(splits.training.get()),
                       count(splits.held_back.get())));
  return splits;
}

}  // namespace

std::filesystem::path statistics_file(const ResolvedRecipe& recipe) {
  return recipe.options.run.dir / "metadata.json";
}

WindowDatasetOptions dataset_options(const ResolvedRecipe& recipe) {
  WindowDatasetOptions options;
  const auto files = std::make_shared<OpenFiles>(
      OpenFilesOptions::for_threads(static_cast<std::size_t>(recipe.threads)));
  for (const auto& section : recipe.options.data.datasets) {
    DatasetMember member;
    member.embodiment = find_embodiment(section.embodiment, configs_folder() / "embodiment");
    member.reader =
        std::make_shared<const LeRobotReader>(section.path, episode_filter(section), files);
    member.binding = bind(*member.reader, member.embodiment);
    member.weight = section.weight;
    member.held_back_episodes =
        held_back_episodes(recipe.options.data.validation, member.reader->num_episodes());
    options.members.push_back(std::move(member));
  }
  options.blocks = recipe.model.config.max_blocks;
  options.view_height = recipe.model.view_height;
  options.view_width = recipe.model.view_width;
  options.state_width = recipe.model.config.state_width;
  options.action_width = recipe.model.config.action_width;
  options.sampling = recipe.options.data.sampling;
  options.bug_compatible = recipe.options.data.bug_compatible;
  options.augmentations = recipe.options.data.augmentations;
  options.seed = recipe.options.run.seed;
  options.scan_threads = recipe.threads;
  options.index.folder = recipe.index_cache;
  options.index.keep = false;
  return options;
}

OpenedData open_data(const ResolvedRecipe& recipe,
                     const std::map<std::string, Statistics>& saved,
                     Log& log) {
  WindowDatasetOptions options = options_to_open(recipe, log);
  OpenedData out;
  for (auto& member : options.members) {
    const std::string& tag = member.embodiment.tag;
    if (!out.statistics.contains(tag)) {
      auto settled = settle(statistics_for(tag, recipe, saved, options.members, log),
                            member.embodiment, recipe.options.data.range_floor);
      for (const auto& remark : settled.remarks) log.warn("statistics of " + tag + ": " + remark);
      out.statistics[tag] = std::move(settled.statistics);
    }
    member.statistics = out.statistics.at(tag);
  }
  out.splits = open_splits(std::move(options), log);
  return out;
}

std::vector<std::string> all_prompts(const DatasetSplits& splits) {
  const std::vector<std::string> training = splits.training->prompts();
  std::set<std::string> all(training.begin(), training.end());
  if (splits.held_back) {
    for (auto& prompt : splits.held_back->prompts()) all.insert(std::move(prompt));
  }
  return {all.begin(), all.end()};
}

DatasetSplits open_pictures(const ResolvedRecipe& recipe, Log& log) {
  return open_splits(options_to_open(recipe, log), log);
}

}  // namespace wam
