#include "apps/wamtrain/index_progress.h"

#include <chrono>
#include <memory>

#include <fmt/core.h>

#include "core/base/format.h"

namespace wam {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kQuiet_s = 1;          // sets that are read within it say nothing
constexpr double kBetweenBars_s = 0.1;  // on a terminal
constexpr double kBetweenLines_s = 10;  // elsewhere
constexpr std::int64_t kBarWidth = 24;

class ProgressBar {
 public:
  explicit ProgressBar(Log& log) : log_(log) {}

  void show(std::int64_t done, std::int64_t total) {
    if (done == 1)
      shown_ = Clock::now() +
               std::chrono::milliseconds(static_cast<std::int64_t>(1000 * (kQuiet_s - between())));
    const bool ended = done == total;
    const double since_s = std::chrono::duration<double>(Clock::now() - shown_).count();
    if (since_s < between() && !(ended && is_showing_)) return;
    shown_ = Clock::now();
    is_showing_ = true;
    const auto filled = static_cast<std::size_t>(done * kBarWidth / total);
    log_.progress(fmt::format("data: reading labels and texts once [{}{}] {} of {} episodes",
                              std::string(filled, '#'),
                              std::string(static_cast<std::size_t>(kBarWidth) - filled, '.'),
                              with_commas(done), with_commas(total)));
    if (!ended) return;
    log_.end_progress();
    is_showing_ = false;
  }

 private:
  [[nodiscard]] double between() const {
    return log_.is_terminal() ? kBetweenBars_s : kBetweenLines_s;
  }

  Log& log_;
  Clock::time_point shown_;
  bool is_showing_ = false;
};

}  // namespace

SetIndexOptions index_options(const std::filesystem::path& folder, bool keep, Log& log) {
  SetIndexOptions options{.folder = folder, .keep = keep};
  options.on_progress = [bar = std::make_shared<ProgressBar>(log)](
                            std::int64_t done, std::int64_t total) { bar->show(done, total); };
  options.on_note = [&log](const std::string& line) { log.warn("data: " + line); };
  return options;
}

}  // namespace wam
