#include "apps/wamtrain/progress_bar.h"

#include <fmt/core.h>

#include "core/base/format.h"

namespace wam {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kQuiet_s = 1;
constexpr double kBetweenBars_s = 0.1;  // on a terminal
constexpr double kBetweenLines_s = 10;  // elsewhere
constexpr std::int64_t kBarWidth = 24;

}  // namespace

void ProgressBar::show(std::int64_t done, std::int64_t total) {
  if (done == 1) began_ = Clock::now();
  if (done == 1)
    shown_ = Clock::now() +
             std::chrono::milliseconds(static_cast<std::int64_t>(1000 * (kQuiet_s - between_s())));
  const bool ended = done == total;
  const double since_s = std::chrono::duration<double>(Clock::now() - shown_).count();
  if (since_s < between_s() && !(ended && is_showing_)) return;
  shown_ = Clock::now();
  is_showing_ = true;
  const auto filled = static_cast<std::size_t>(done * kBarWidth / total);
  log_.progress(fmt::format("{} [{}{}] {} of {} {}{}", text_, std::string(filled, '#'),
                            std::string(static_cast<std::size_t>(kBarWidth) - filled, '.'),
                            with_commas(done), with_commas(total), unit_, rate_text(done, total)));
  if (!ended) return;
  log_.end_progress();
  is_showing_ = false;
}

// ", 12/s, 40 s left", by what was done since the first was.
std::string ProgressBar::rate_text(std::int64_t done, std::int64_t total) const {
  const double passed_s = std::chrono::duration<double>(Clock::now() - began_).count();
  if (done <= 1 || passed_s <= 0) return {};
  const double rate = static_cast<double>(done - 1) / passed_s;
  std::string out = fmt::format(", {:.3g}/s", rate);
  if (done < total) {
    out += fmt::format(", {} left", human_seconds(static_cast<double>(total - done) / rate));
  }
  return out;
}

double ProgressBar::between_s() const {
  return log_.is_terminal() ? kBetweenBars_s : kBetweenLines_s;
}

}  // namespace wam
