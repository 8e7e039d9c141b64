#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "apps/wamtrain/commands.h"
#include "apps/wamtrain/exit_code.h"
#include "apps/wamtrain/install.h"
#include "apps/wamtrain/statistics_progress.h"
#include "core/base/cores.h"
#include "core/base/errors.h"
#include "core/base/format.h"
#include "core/io/atomic_file.h"
#include "data/lerobot/open_files.h"
#include "data/normalise/compute.h"
#include "data/normalise/odd_dimensions.h"
#include "data/normalise/settle.h"

namespace wam {
namespace {

struct OpenedSet {
  std::unique_ptr<LeRobotReader> reader;
  Binding binding;
};

void check(const StatsArguments& arguments) {
  require<ConfigError>(
      arguments.range_floor >= 0,
      "stats --range-floor: found {}, expected 0 or more. Fix: write the narrowest "
      "range in the dimensions' own unit.",
      arguments.range_floor);
  require<ConfigError>(arguments.threads >= 0,
                       "stats --threads: found {}, expected at least 1. Fix: leave it out for one "
                       "per core.",
                       arguments.threads);
  const EpisodeFilter& filter = arguments.filter;
  require<ConfigError>(
      filter.min_length >= 0 && (filter.max_length == 0 || filter.max_length >= filter.min_length),
      "stats --min-length, --max-length: found {} and {}, expected lengths in this order. Fix: "
      "write frames, or leave one out.",
      filter.min_length, filter.max_length);
  require<ConfigError>(arguments.merge || !std::filesystem::exists(arguments.out),
                       "stats --out: {} exists. Fix: write --merge to put the entry into it, or "
                       "another name.",
                       arguments.out.string());
  // Found now and not after an hour of reading.
  if (std::filesystem::exists(arguments.out)) static_cast<void>(read_metadata(arguments.out));
  const auto folder = std::filesystem::absolute(arguments.out).parent_path();
  require<ConfigError>(std::filesystem::is_directory(folder),
                       "stats --out: there is no folder {}. Fix: make it, or write another name.",
                       folder.string());
}

std::vector<OpenedSet> open_sets(const StatsArguments& arguments,
                                 const Embodiment& embodiment,
                                 Log& log) {
  std::vector<OpenedSet> sets;
  const auto files = std::make_shared<OpenFiles>();
  for (const auto& path : arguments.datasets) {
    OpenedSet& set = sets.emplace_back();
    set.reader = std::make_unique<LeRobotReader>(path, arguments.filter, files);
    set.binding = bind(*set.reader, embodiment);
    for (const auto& note : set.reader->meta().notes) {
      log.info(fmt::format("data: {}: {}", set.reader->meta().name(), note));
    }
  }
  return sets;
}

std::string dimension_name(const std::string& key, std::size_t d) {
  return fmt::format("{}[{}]", key, d);
}

void print_table(const Statistics& statistics) {
  fmt::print("{:<36} {:>11} {:>11} {:>11} {:>11} {:>11} {:>11}\n", "dimension", "min", "q01",
             "mean", "q99", "max", "std");
  const auto print_keys = [](const auto& keys, const std::string& kind) {
    for (const auto& [name, key] : keys) {
      const std::string note = key.relative.value_or(false) ? " (relative)" : "";
      for (std::size_t d = 0; d < key.width(); ++d) {
        fmt::print("{:<36} {:>11.5g} {:>11.5g} {:>11.5g} {:>11.5g} {:>11.5g} {:>11.5g}\n",
                   dimension_name(kind + name, d) + note, key.min[d], key.q01[d], key.mean[d],
                   key.q99[d], key.max[d], key.std[d]);
      }
    }
  };
  print_keys(statistics.state, "state.");
  print_keys(statistics.action, "action.");
}

// "episode 3 of set, frame 17".
std::string place_text(const ValuePlace& place, const std::vector<OpenedSet>& sets) {
  const LeRobotReader& reader = *sets[place.dataset].reader;
  return fmt::format("episode {} of {}, frame {}", reader.episode_number(place.episode_idx),
                     reader.meta().name(), place.frame);
}

const KeyStatistics& key_of(const Statistics& statistics, const std::string& name) {
  const auto dot = name.find('.');
  const auto& keys = name.substr(0, dot) == "state" ? statistics.state : statistics.action;
  return keys.at(name.substr(dot + 1));
}

std::string describe(const OddDimension& odd,
                     const ComputedStatistics& computed,
                     const std::vector<OpenedSet>& sets) {
  const ExtremePlaces& places = computed.extremes.at(odd.key);
  return describe(odd, key_of(computed.statistics, odd.key),
                  place_text(places.min[odd.dimension], sets),
                  place_text(places.max[odd.dimension], sets));
}

void print_odd(const ComputedStatistics& computed, const std::vector<OpenedSet>& sets) {
  const auto odd = odd_dimensions(computed.statistics);
  if (odd.empty()) return;
  fmt::print("\nto look at before training (docs/data.md, Statistics):\n");
  for (const auto& dimension : odd) {
    fmt::print("  {}: {}: {}\n", dimension_name(dimension.key, dimension.dimension),
               name_of(dimension.oddity), describe(dimension, computed, sets));
  }
}

void write(const StatsArguments& arguments, const Statistics& statistics) {
  if (std::filesystem::exists(arguments.out)) {
    write_file_atomically(arguments.out,
                          with_entry(read_file(arguments.out), arguments.out, statistics));
  } else {
    write_metadata(arguments.out, {{statistics.tag, statistics}});
  }
  fmt::print("\nwritten: the entry {} of {}. A recipe takes it with data.statistics.\n",
             statistics.tag, arguments.out.string());
}

}  // namespace

int stats_command(const StatsArguments& arguments) {
  check(arguments);
  const Embodiment embodiment =
      find_embodiment(arguments.embodiment, configs_folder() / "embodiment");
  Log log({});
  const auto sets = open_sets(arguments, embodiment, log);
  std::vector<BoundDataset> bound;
  std::int64_t episodes = 0;
  for (const auto& set : sets) {
    bound.push_back({set.reader.get(), &set.binding});
    episodes += set.reader->num_episodes();
  }
  const auto threads =
      arguments.threads > 0 ? arguments.threads : static_cast<std::int64_t>(allowed_cores().size());
  const auto not_finite =
      arguments.leaves_out_not_finite ? NotFinite::kLeftOut : NotFinite::kRefused;
  const auto computed = compute_statistics(
      bound, embodiment, compute_options(embodiment.tag, threads, not_finite, log));
  const auto settled = settle(computed.statistics, embodiment, arguments.range_floor);
  log.info(fmt::format("statistics of {}: {} episodes, {} rows", embodiment.tag,
                       with_commas(episodes), with_commas(computed.rows)));
  if (computed.left_out > 0)
    log.warn(fmt::format("{} values are not finite and left out", with_commas(computed.left_out)));
  print_table(settled.statistics);
  print_odd(computed, sets);
  for (const auto& remark : settled.remarks) log.warn(remark);
  write(arguments, settled.statistics);
  return kExitOk;
}

}  // namespace wam
