#include "data/check/open_set.h"

#include <algorithm>
#include <mutex>

#include <fmt/core.h>

#include "core/base/errors.h"
#include "core/base/format.h"
#include "core/base/parallel.h"
#include "data/check/episode_check.h"
#include "data/lerobot/open_files.h"
#include "data/video/video_index.h"

namespace wam {
namespace {

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

class SetOpener {
 public:
  explicit SetOpener(const CheckOptions& options)
      : options_(options),
        root_(options.root.string()),
        files_(std::make_shared<OpenFiles>(OpenFilesOptions::for_threads(options.threads))) {}

  OpenSet run() {
    out_.is_open = open() && open_tables() && find_columns();
    if (out_.is_open) find_size();
    return std::move(out_);
  }

 private:
  void add(FaultKind kind, Effect effect, std::string message, std::string fix = {}) {
    out_.faults.push_back({kind, effect, {}, {}, {}, std::move(message), std::move(fix)});
  }
  void add_error(FaultKind kind, const std::exception& error) {
    auto text = error_text(error.what(), root_);
    add(kind, Effect::kStart, std::move(text.message), std::move(text.fix));
  }

  // The metadata; false: there is nothing more to look at.
  bool open() {
    try {
      out_.reader = std::make_unique<LeRobotReader>(options_.root, options_.filter, files_);
    } catch (const ConfigError& error) {
      add_error(FaultKind::kMetadata, error);
    } catch (const DataError& error) {
      add_error(FaultKind::kMetadata, error);
    }
    if (!out_.reader) return false;
    const LeRobotMeta& meta = out_.reader->meta();
    out_.num_episodes = out_.reader->num_episodes();
    out_.first_number = out_.reader->episode_number(0);
    for (const auto& note : meta.notes) add(FaultKind::kLeftOut, Effect::kNone, note);
    check_totals(meta);
    return true;
  }

  void check_totals(const LeRobotMeta& meta) {
    const bool is_whole = meta.num_listed == static_cast<std::int64_t>(meta.episodes.size());
    std::int64_t rows = 0;
    for (const auto& episode : meta.episodes) {
      if (!episode.length) return;
      rows += *episode.length;
    }
    if (!is_whole || meta.info.total_frames == 0 || meta.info.total_frames == rows) return;
    out_.faults.push_back(
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
    const auto count = out_.reader->num_episodes();
    std::vector<std::optional<Fault>> bad(static_cast<std::size_t>(count));
    for_each_index(bad.size(), options_.threads, [&](std::size_t e) {
      bad[e] = open_table(static_cast<std::int64_t>(e));
      tell(count);
    });
    EpisodeFilter filter;
    std::vector<std::int64_t> good;
    for (std::size_t e = 0; e < bad.size(); ++e) {
      if (bad[e]) {
        out_.faults.push_back(*std::move(bad[e]));
      } else {
        good.push_back(out_.reader->episode_number(static_cast<std::int64_t>(e)));
      }
    }
    if (good.empty()) return false;
    if (static_cast<std::int64_t>(good.size()) == count) return true;
    filter.episodes = filter_of(good);
    out_.reader = std::make_unique<LeRobotReader>(options_.root, filter, files_);
    return true;
  }

  std::optional<Fault> open_table(std::int64_t episode_idx) {
    const std::string table = table_name(*out_.reader, episode_idx);
    try {
      static_cast<void>(out_.reader->table_columns(episode_idx));
      return std::nullopt;
    } catch (const DataError& error) {
      auto text = error_text(error.what(), root_, table);
      return Fault{FaultKind::kTable,
                   Effect::kStart,
                   table,
                   out_.reader->episode_number(episode_idx),
                   {},
                   std::move(text.message),
                   std::move(text.fix)};
    }
  }

  void tell(std::int64_t total) {
    if (!options_.on_progress) return;
    const std::lock_guard lock(mutex_);
    options_.on_progress(CheckStage::kOpening, ++done_, total);
  }

  bool find_columns() {
    try {
      out_.binding = bind_columns(*out_.reader, options_.embodiment);
    } catch (const DataError& error) {
      add_error(FaultKind::kColumns, error);
      return false;
    }
    return true;
  }

  // That of the first camera of the first episode in which it can be told.
  void find_size() {
    for (std::int64_t e = 0; e < out_.reader->num_episodes() && !out_.size; ++e) {
      for (const auto& camera : out_.binding.cameras) {
        try {
          out_.size = size_of(e, camera);
          break;
        } catch (const DataError&) {
          continue;  // told where the camera is looked at
        }
      }
    }
    out_.binding.picture = out_.size.value_or(PictureSize{});
  }

  std::optional<PictureSize> size_of(std::int64_t episode_idx, const std::string& camera) {
    if (!out_.reader->video_file(episode_idx, camera).empty()) {
      const auto video = out_.reader->video(episode_idx, camera);
      return PictureSize{video.index->height, video.index->width};
    }
    if (options_.depth == CheckDepth::kQuick) return std::nullopt;
    const std::int64_t first[] = {0};
    const at::Tensor picture_THWC = out_.reader->read_frames(episode_idx, camera, first);
    return PictureSize{picture_THWC.size(1), picture_THWC.size(2)};
  }

  const CheckOptions& options_;
  std::string root_;
  std::shared_ptr<OpenFiles> files_;
  OpenSet out_;
  std::mutex mutex_;
  std::int64_t done_ = 0;
};

}  // namespace

OpenSet open_set(const CheckOptions& options) {
  return SetOpener(options).run();
}

}  // namespace wam
