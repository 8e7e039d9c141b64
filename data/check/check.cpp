#include "data/check/check.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <numeric>

#include <fmt/core.h>

#include "core/base/parallel.h"
#include "data/check/episode_check.h"
#include "data/check/open_set.h"
#include "data/check/pictures.h"
#include "data/dataset/scan_notes.h"
#include "data/dataset/window_dataset.h"

namespace wam {
namespace {

constexpr std::size_t kSheetRows = 8;

class DatasetCheck {
 public:
  explicit DatasetCheck(const CheckOptions& options) : options_(options) {
    report_.root = options.root.string();
    report_.embodiment = options.embodiment.tag;
    report_.depth = options.depth;
    WindowDatasetOptions windows;
    windows.blocks = options.blocks;
    windows.sampling = options.sampling;
    windows.bug_compatible = options.bug_compatible;
    rule_ = window_rule(options.embodiment, windows);
    report_.blocks = options.blocks;
    report_.shortest_episode = rule_.shortest_episode();
  }

  CheckReport run() {
    if (is_sound() && open()) {
      check_episodes();
      check_values();
      if (options_.depth == CheckDepth::kFull) {
        check_all_pictures();
        draw_sheet();
      }
      check_together();
    }
    sort_faults(report_.faults);
    return std::move(report_);
  }

 private:
  template <class Work>
  void for_each_episode(CheckStage stage, std::int64_t total, const Work& work) {
    for_each_index(static_cast<std::size_t>(reader_->num_episodes()), options_.threads,
                   [&](std::size_t e) {
                     work(e);
                     if (!options_.on_progress) return;
                     const std::lock_guard lock(mutex_);
                     options_.on_progress(stage, ++done_, total);
                   });
  }

  bool is_sound() {
    const auto problems = rule_problems(rule_);
    for (const auto& problem : problems) {
      report_.faults.push_back(
          {FaultKind::kStart,
           Effect::kStart,
           {},
           {},
           {},
           fmt::format("embodiment '{}': {}", options_.embodiment.tag, problem),
           {}});
    }
    return problems.empty();
  }

  bool open() {
    OpenSet set = open_set(options_);
    std::move(set.faults.begin(), set.faults.end(), std::back_inserter(report_.faults));
    if (!set.reader) return false;
    const LeRobotMeta& meta = set.reader->meta();
    report_.name = meta.name();
    report_.version = meta.info.version;
    report_.robot = meta.info.robot_type;
    report_.fps = meta.info.fps;
    report_.num_episodes = set.num_episodes;
    if (!set.is_open) return false;
    report_.cameras = set.binding.cameras;
    report_.picture = set.size;
    first_number_ = set.first_number;
    reader_ = std::move(set.reader);
    binding_ = std::move(set.binding);
    context_ = {reader_.get(), &binding_, &rule_,
                instruction_rule(options_.embodiment, options_.bug_compatible), set.size};
    return true;
  }

  void check_episodes() {
    const std::int64_t count = reader_->num_episodes();
    values_ = std::make_unique<ValueChecks>(
        options_.embodiment, binding_, count,
        ValueChecks::Names{[this](std::int64_t e) { return reader_->episode_number(e); },
                           [this](std::int64_t e) { return table_name(*reader_, e); }});
    episodes_.resize(static_cast<std::size_t>(count));
    done_ = 0;
    for_each_episode(CheckStage::kTables, 2 * count, [&](std::size_t e) {
      const auto idx = static_cast<std::int64_t>(e);
      episodes_[e] = check_episode(context_, idx);
      if (episodes_[e].is_readable) values_->first_pass(idx, episodes_[e].rows);
      episodes_[e].rows.clear();
    });
    const bool any = values_->begin_second_pass();
    for_each_episode(CheckStage::kTables, 2 * count, [&](std::size_t e) {
      const auto idx = static_cast<std::int64_t>(e);
      if (any && episodes_[e].is_readable) values_->second_pass(idx, read_slices(context_, idx));
    });
    if (!any) values_.reset();
  }

  void check_values() {
    if (!values_) return;
    auto found = values_->findings();
    report_.dimensions = std::move(found.dimensions);
    std::move(found.faults.begin(), found.faults.end(), std::back_inserter(report_.faults));
    for (const auto& group : values_->equal_episodes()) add_duplicates(group);
  }

  void add_duplicates(const std::vector<std::int64_t>& group) {
    constexpr std::size_t kNamed = 8;
    std::vector<std::int64_t> others;
    for (std::size_t i = 1; i < std::min(group.size(), kNamed + 1); ++i) {
      others.push_back(reader_->episode_number(group[i]));
    }
    const std::size_t more = group.size() - 1 - others.size();
    report_.faults.push_back(
        {FaultKind::kDuplicate,
         Effect::kNone,
         table_name(*reader_, group[0]),
         reader_->episode_number(group[0]),
         {},
         fmt::format("the same states and actions as in episodes {}{}", numbers_in_runs(others),
                     more > 0 ? fmt::format(" and {} more", more) : ""),
         "leave all but one out (`episodes` of the dataset)"});
  }

  void check_all_pictures() {
    done_ = 0;
    if (!context_.size) return;
    for_each_episode(CheckStage::kPictures, reader_->num_episodes(), [&](std::size_t e) {
      EpisodeCheck& episode = episodes_[e];
      if (!episode.is_readable) return;
      const auto idx = static_cast<std::int64_t>(e);
      std::vector<CameraLook> looks;
      for (std::size_t c = 0; c < binding_.cameras.size(); ++c) {
        if (!episode.camera_is_there[c]) continue;
        looks.push_back(look_at_camera(*reader_, idx, binding_.cameras[c], *context_.size));
      }
      if (looks.empty()) return;
      for (Fault& fault : check_pictures(looks, still_frames())) {
        fault.episode = reader_->episode_number(idx);
        episode.faults.push_back(std::move(fault));
      }
    });
  }

  // From how many frames on a stretch without a change is a fault: a window, a second at least.
  [[nodiscard]] std::int64_t still_frames() const {
    return std::max(report_.shortest_episode, static_cast<std::int64_t>(std::ceil(report_.fps)));
  }

  void draw_sheet() {
    std::vector<std::int64_t> all;
    for (std::size_t e = 0; e < episodes_.size(); ++e) {
      const EpisodeCheck& episode = episodes_[e];
      const auto& there = episode.camera_is_there;
      const bool is_whole = std::find(there.begin(), there.end(), false) == there.end();
      if (!episode.is_readable || !episode.windows.first || !is_whole) continue;
      all.push_back(static_cast<std::int64_t>(e));
    }
    std::vector<SheetStart> chosen;
    const std::size_t rows = std::min(kSheetRows, all.size());
    for (std::size_t i = 0; i < rows; ++i) {
      const std::int64_t e = all[i * all.size() / rows];
      const auto facts = read_episode_facts(*reader_, binding_, e);
      const std::int64_t start = *episodes_[static_cast<std::size_t>(e)].windows.first;
      chosen.push_back({e, start, labels_of(facts.facts), instruction_at(facts, start)});
    }
    if (chosen.empty()) return;
    SheetOptions sheet;
    sheet.view_height = options_.view_height > 0 ? options_.view_height : context_.size->height;
    sheet.view_width = options_.view_width > 0 ? options_.view_width : context_.size->width;
    report_.sheet = make_sheet(*reader_, options_.embodiment, binding_, rule_, chosen, sheet);
    report_.sheet.target_height = options_.target_height;
    report_.sheet.target_width = options_.target_width;
  }

  // What takes all episodes to tell, and what training makes of the faults of one.
  void check_together() {
    for (EpisodeCheck& episode : episodes_) {
      for (Fault& fault : episode.faults) {
        fault.effect = effect_of(fault, episode);
        report_.faults.push_back(std::move(fault));
      }
      if (episode.is_readable) report_.episodes.push_back(episode.windows);
    }
    auto windows = check_windows(report_.episodes, rule_);
    std::move(windows.begin(), windows.end(), std::back_inserter(report_.faults));
    for (const auto& camera : binding_.cameras) {
      if (reader_->video_file(0, camera).empty()) continue;
      report_.num_videos += reader_->num_episodes();
    }
  }

  // A run decodes the first picture of every camera when it starts, and else what windows need.
  [[nodiscard]] Effect effect_of(const Fault& fault, const EpisodeCheck& episode) const {
    const bool is_picture = fault.kind >= FaultKind::kMissingVideo &&
                            fault.kind <= FaultKind::kFrameTimes && fault.effect != Effect::kNone;
    if (!is_picture) return fault.effect;
    if (fault.episode == first_number_ && fault.frame.value_or(0) == 0) return Effect::kStart;
    return episode.windows.windows > 0 || !episode.is_readable ? fault.effect : Effect::kNone;
  }

  const CheckOptions& options_;
  CheckReport report_;
  WindowRule rule_;
  std::unique_ptr<LeRobotReader> reader_;
  std::int64_t first_number_ = 0;  // of the first episode that a run opens
  Binding binding_;
  EpisodeCheckContext context_;
  std::unique_ptr<ValueChecks> values_;
  std::vector<EpisodeCheck> episodes_;
  std::mutex mutex_;
  std::int64_t done_ = 0;
};

}  // namespace

std::int64_t CheckReport::num_rows() const {
  return std::accumulate(episodes.begin(), episodes.end(), std::int64_t{0},
                         [](std::int64_t sum, const auto& e) { return sum + e.length; });
}

std::int64_t CheckReport::num_windows() const {
  return std::accumulate(episodes.begin(), episodes.end(), std::int64_t{0},
                         [](std::int64_t sum, const auto& e) { return sum + e.windows; });
}

CheckReport check_dataset(const CheckOptions& options) {
  return DatasetCheck(options).run();
}

}  // namespace wam
