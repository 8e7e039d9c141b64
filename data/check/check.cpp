#include "data/check/check.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <numeric>

#include <fmt/core.h>

#include "core/base/data_errors.h"
#include "core/base/format.h"
#include "core/base/names.h"
#include "core/base/parallel.h"
#include "data/check/episode_check.h"
#include "data/check/pictures.h"
#include "data/dataset/scan_notes.h"
#include "data/dataset/window_dataset.h"
#include "data/video/video_index.h"

namespace wam {
namespace {

constexpr std::size_t kSheetRows = 8;

// Numbers as a filter takes them, neighbours as a range.
std::vector<std::string> filter_of(const std::vector<std::int64_t>& ascending) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < ascending.size();) {
    std::size_t end = i + 1;
    while (end < ascending.size() && ascending[end] == ascending[end - 1] + 1) ++end;
    out.push_back(fmt::format("{}:{}", ascending[i], ascending[end - 1] + 1));
    i = end;
  }
  return out;
}

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
    if (open() && open_tables() && find_columns()) {
      find_size();
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
  void add(FaultKind kind, Effect effect, std::string message, std::string fix = {}) {
    report_.faults.push_back({kind, effect, {}, {}, {}, std::move(message), std::move(fix)});
  }
  void add_error(FaultKind kind, const std::exception& error) {
    auto text = error_text(error.what(), report_.root);
    add(kind, Effect::kStart, std::move(text.message), std::move(text.fix));
  }

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

  // The metadata; false: there is nothing more to look at.
  bool open() {
    const auto problems = rule_problems(rule_);
    for (const auto& problem : problems) {
      add(FaultKind::kStart, Effect::kStart,
          fmt::format("embodiment '{}': {}", options_.embodiment.tag, problem));
    }
    try {
      reader_ = std::make_unique<LeRobotReader>(options_.root, reader_options(options_.filter));
    } catch (const ConfigError& error) {
      add_error(FaultKind::kMetadata, error);
    } catch (const DataError& error) {
      add_error(FaultKind::kMetadata, error);
    }
    if (!reader_) return false;
    const LeRobotMeta& meta = reader_->meta();
    report_.name = meta.name();
    report_.version = meta.info.version;
    report_.robot = meta.info.robot_type;
    report_.fps = meta.info.fps;
    report_.num_episodes = reader_->num_episodes();
    first_number_ = reader_->episode_number(0);
    for (const auto& note : meta.notes) add(FaultKind::kLeftOut, Effect::kNone, note);
    check_totals(meta);
    return problems.empty();
  }

  [[nodiscard]] LeRobotReaderOptions reader_options(EpisodeFilter filter) const {
    LeRobotReaderOptions out;
    out.filter = std::move(filter);
    out.max_idle_decoders = std::max<std::size_t>(out.max_idle_decoders, 2 * options_.threads);
    out.max_open_tables = std::max<std::size_t>(out.max_open_tables, 2 * options_.threads);
    return out;
  }

  void check_totals(const LeRobotMeta& meta) {
    const bool is_whole = options_.filter.is_empty() && !meta.info.training_episodes &&
                          meta.info.discarded_episodes.empty();
    std::int64_t rows = 0;
    for (const auto& episode : meta.episodes) {
      if (!episode.length) return;
      rows += *episode.length;
    }
    if (!is_whole || meta.info.total_frames == 0 || meta.info.total_frames == rows) return;
    report_.faults.push_back(
        {FaultKind::kMetadata,
         Effect::kNone,
         "meta/info.json",
         {},
         {},
         fmt::format("total_frames is {}, the episodes of the list have {} frames",
                     with_commas(meta.info.total_frames), with_commas(rows)),
         "restore meta/ from the dataset's source"});
  }

  // Every table's footer. Episodes whose table cannot be opened are told, and left out from here
  // on.
  bool open_tables() {
    const auto count = reader_->num_episodes();
    std::vector<std::optional<Fault>> bad(static_cast<std::size_t>(count));
    for_each_index(bad.size(), options_.threads, [&](std::size_t e) {
      const auto idx = static_cast<std::int64_t>(e);
      try {
        static_cast<void>(reader_->table_columns(idx));
      } catch (const DataError& error) {
        auto text = error_text(error.what(), report_.root, table_name(*reader_, idx));
        bad[e] = Fault{FaultKind::kTable,
                       Effect::kStart,
                       table_name(*reader_, idx),
                       reader_->episode_number(idx),
                       {},
                       std::move(text.message),
                       std::move(text.fix)};
      }
    });
    std::vector<std::int64_t> good;
    for (std::size_t e = 0; e < bad.size(); ++e) {
      if (bad[e]) {
        report_.faults.push_back(*std::move(bad[e]));
      } else {
        good.push_back(reader_->episode_number(static_cast<std::int64_t>(e)));
      }
    }
    if (good.empty()) return false;
    if (static_cast<std::int64_t>(good.size()) == count) return true;
    EpisodeFilter filter;
    filter.episodes = filter_of(good);
    reader_ = std::make_unique<LeRobotReader>(options_.root, reader_options(std::move(filter)));
    return true;
  }

  bool find_columns() {
    try {
      binding_ = bind_columns(*reader_, options_.embodiment);
    } catch (const DataError& error) {
      add_error(FaultKind::kColumns, error);
      return false;
    }
    report_.cameras = binding_.cameras;
    context_ = {reader_.get(),
                &binding_,
                &rule_,
                instruction_rule(options_.embodiment, options_.bug_compatible),
                {}};
    return true;
  }

  // That of the first camera of the first episode in which it can be told.
  void find_size() {
    for (std::int64_t e = 0; e < reader_->num_episodes() && !context_.size; ++e) {
      for (const auto& camera : binding_.cameras) {
        try {
          context_.size = size_of(e, camera);
          break;
        } catch (const DataError&) {
          continue;  // told where the camera is looked at
        }
      }
    }
    report_.picture = context_.size;
    binding_.picture = context_.size.value_or(PictureSize{});
  }

  std::optional<PictureSize> size_of(std::int64_t episode_idx, const std::string& camera) {
    if (!reader_->video_file(episode_idx, camera).empty()) {
      const auto video = reader_->video(episode_idx, camera);
      return PictureSize{video.index->height, video.index->width};
    }
    if (options_.depth == CheckDepth::kQuick) return std::nullopt;
    const std::int64_t first[] = {0};
    const at::Tensor picture_THWC = reader_->read_frames(episode_idx, camera, first);
    return PictureSize{picture_THWC.size(1), picture_THWC.size(2)};
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
    std::vector<std::int64_t> others;
    for (std::size_t i = 1; i < group.size(); ++i)
      others.push_back(reader_->episode_number(group[i]));
    report_.faults.push_back(
        {FaultKind::kDuplicate,
         Effect::kNone,
         table_name(*reader_, group[0]),
         reader_->episode_number(group[0]),
         {},
         fmt::format("the same states and actions as in episodes {}", numbers_in_runs(others)),
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
      for (Fault& fault : check_pictures(looks, report_.shortest_episode)) {
        fault.episode = reader_->episode_number(idx);
        episode.faults.push_back(std::move(fault));
      }
    });
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
