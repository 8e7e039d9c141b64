#include "apps/wamtrain/progress_bar.h"

#include <fmt/core.h>

#include "core/base/format.h"

namespace wam {
namespace {

constexpr double kQuiet_s = 1;
constexpr double kBetweenBars_s = 0.1;  // on a terminal
constexpr double kBetweenLines_s = 10;  // elsewhere
constexpr std::int64_t kBarWidth = 24;

}  // namespace

void ProgressBar::show(std::int64_t done, std::int64_t total) {
  if (done <= last_ || last_ == 0) {
    began_ = Clock::now();
    first_ = done;
    shown_ = began_ +
             std::chrono::milliseconds(static_cast<std::int64_t>(1000 * (kQuiet_s - between_s())));
  }
  last_ = done;
  const bool ended = done == total;
  const double since_s = std::chrono::duration<double>(Clock::now() - shown_).count();
  if (since_s < between_s() && !(ended && is_showing_)) return;
  shown_ = Clock::now();
  is_showing_ = true;
  const auto filled = static_cast<std::size_t>(done * kBarWidth / total);
  log_.progress(fmt::format("{} [{}{}] {} of {} {}{}", text_, std::string(filled, '#'),
                            std::string(static_cast<std::size_t>(kBarWidth) - filled, '.'),
                            with_commas(done), with_commas(total), unit_, rate(done, total)));
  if (!ended) return;
  log_.end_progress();
  is_showing_ = false;
}

std::string ProgressBar::rate(std::int64_t done, std::int64_t total) const {
  const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
  if (done == first_ || seconds <= 0) return {};
  const double per_s = static_cast<double>(done - first_) / seconds;
  const std::string speed =
      per_s < 100 ? fmt::format("{:.3g}", per_s) : with_commas(static_cast<std::int64_t>(per_s));
  if (done == total) return fmt::format(", {}/s", speed);
  return fmt::format(", {}/s, {} left", speed,
                     human_seconds(static_cast<double>(total - done) / per_s));
}

double ProgressBar::between_s() const {
  return log_.is_terminal() ? kBetweenBars_s : kBetweenLines_s;
}

}  // namespace wam
