#include "core/report/bars.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "core/base/format.h"
#include "core/report/axis.h"
#include "core/report/chart.h"

namespace wam {
namespace {

constexpr double kWidth = 300;
constexpr double kHeight = 130;
constexpr double kSide = 8;
constexpr double kTop = 18;
constexpr double kBottom = 24;

std::string bars_svg(const Bars& bars, const Axis& x, std::int64_t most) {
  const Axis y(0, static_cast<double>(std::max<std::int64_t>(most, 1)), kHeight - kBottom, kTop,
               false);
  const double part = (bars.high - bars.low) / static_cast<double>(bars.counts.size());
  std::string path;
  for (std::size_t i = 0; i < bars.counts.size(); ++i) {
    if (bars.counts[i] == 0) continue;
    const double left = x.pixel(bars.low + part * static_cast<double>(i));
    const double right = x.pixel(bars.low + part * static_cast<double>(i + 1));
    // A bar of few among many is still seen.
    const double top = std::min(y.pixel(static_cast<double>(bars.counts[i])), y.pixel(0) - 1);
    path += fmt::format("M{:.1f} {:.1f}V{:.1f}H{:.1f}V{:.1f}Z", left, y.pixel(0), top, right - 0.5,
                        y.pixel(0));
  }
  return fmt::format(R"(<path class="area {}" d="{}"/>)", bars.style, path);
}

std::string ticks_svg(const Axis& x) {
  std::string out;
  for (const double tick : x.ticks(4)) {
    out += fmt::format(R"(<text class="tick" x="{:.1f}" y="{}" text-anchor="middle">{}</text>)",
                       x.pixel(tick), kHeight - kBottom + 15, tick_label(tick));
  }
  return out + fmt::format(R"(<line class="axis" x1="{}" x2="{}" y1="{}" y2="{}"/>)", kSide,
                           kWidth - kSide, kHeight - kBottom, kHeight - kBottom);
}

std::string outside_text(const Bars& bars) {
  if (bars.below == 0 && bars.above == 0) return {};
  return fmt::format("{} below, {} above", with_commas(bars.below), with_commas(bars.above));
}

}  // namespace

Bars bars_of(const std::vector<std::int64_t>& values, std::size_t most) {
  Bars out;
  if (values.empty()) return out;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const std::int64_t span = *high - *low + 1;
  const auto parts = static_cast<std::int64_t>(most);
  const std::int64_t width = (span + parts - 1) / parts;
  out.counts.assign(static_cast<std::size_t>((span + width - 1) / width), 0);
  for (const std::int64_t value : values) {
    ++out.counts[static_cast<std::size_t>((value - *low) / width)];
  }
  out.low = static_cast<double>(*low);
  out.high = static_cast<double>(*low + width * static_cast<std::int64_t>(out.counts.size()));
  return out;
}

std::string bar_chart(const Bars& bars) {
  const std::string caption = fmt::format(R"(<figcaption><b>{}</b> <small>{}</small></figcaption>)",
                                          escape_markup(bars.title), escape_markup(bars.note));
  if (bars.counts.empty() || bars.high <= bars.low) {
    return fmt::format("<figure class=\"small\">{}<p>no values</p></figure>\n", caption);
  }
  const std::int64_t most = *std::max_element(bars.counts.begin(), bars.counts.end());
  const Axis x(bars.low, bars.high, kSide, kWidth - kSide, false);
  std::string marks;
  for (const double mark : bars.marks) {
    if (mark < bars.low || mark > bars.high) continue;
    marks += fmt::format(R"(<line class="cursor" x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}"/>)",
                         x.pixel(mark), kTop, kHeight - kBottom);
  }
  return fmt::format(
      R"(<figure class="small">{}<svg viewBox="0 0 {} {}" role="img" aria-label="{}">)"
      R"({}{}{}<text class="tick" x="{}" y="12">{}</text>)"
      R"(<text class="tick" x="{}" y="12" text-anchor="end">{}</text></svg></figure>)"
      "\n",
      caption, kWidth, kHeight, escape_markup(bars.title), bars_svg(bars, x, most), marks,
      ticks_svg(x), kSide, with_commas(most), kWidth - kSide, outside_text(bars));
}

}  // namespace wam
