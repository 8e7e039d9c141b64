#include "core/report/chart.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/core.h>
#include <fmt/format.h>

#include "core/report/axis.h"

namespace wam {
namespace {

constexpr double kWidth = 620;
constexpr double kHeight = 260;
constexpr double kLeft = 54;
constexpr double kRight = 12;
constexpr double kTop = 10;
constexpr double kBottom = 30;
constexpr double kLogarithmicFactor = 30;

struct Frame {
  Axis x;
  Axis y;
};

bool wants_logarithm(const Chart& chart, const Range& range) {
  return chart.may_be_logarithmic && !range.empty && range.low > 0 &&
         range.high / range.low > kLogarithmicFactor;
}

Frame frame_of(const Chart& chart) {
  Range x;
  Range y;
  for (const Series& series : chart.series) {
    x.include(series.x);
    y.include(series.y);
  }
  const bool logarithmic = wants_logarithm(chart, y);
  Range shown = y.padded();
  if (logarithmic) shown = {.low = y.low / 1.15, .high = y.high * 1.15, .empty = false};
  if (chart.from_zero) shown.low = std::min(0.0, y.low);
  if (x.high <= x.low) x.high = x.low + 1;
  return {.x = Axis(x.low, x.high, kLeft, kWidth - kRight, false),
          .y = Axis(shown.low, shown.high, kHeight - kBottom, kTop, logarithmic)};
}

std::string axes_svg(const Frame& frame, const std::vector<double>& y_ticks, bool percent) {
  std::string out;
  for (const double tick : y_ticks) {
    const double y = frame.y.pixel(tick);
    const std::string label = percent ? fmt::format("{:.0f}%", tick * 100) : tick_label(tick);
    out += fmt::format(R"(<line class="grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>)"
                       R"(<text class="tick" x="{}" y="{:.1f}" text-anchor="end">{}</text>)",
                       kLeft, kWidth - kRight, y, y, kLeft - 7, y + 4, label);
  }
  for (const double tick : frame.x.ticks(7)) {
    if (tick != std::floor(tick)) continue;  // steps are whole
    out += fmt::format(R"(<text class="tick" x="{:.1f}" y="{}" text-anchor="middle">{}</text>)",
                       frame.x.pixel(tick), kHeight - kBottom + 17, tick_label(tick));
  }
  out += fmt::format(R"(<line class="axis" x1="{}" x2="{}" y1="{}" y2="{}"/>)", kLeft,
                     kWidth - kRight, kHeight - kBottom, kHeight - kBottom);
  return out;
}

// The line through the finite points; a single point between gaps becomes a dot.
std::string path_svg(const Series& series, const Frame& frame) {
  std::string path;
  std::string dots;
  std::size_t run = 0;
  for (std::size_t k = 0; k <= series.y.size(); ++k) {
    const bool finite = k < series.y.size() && std::isfinite(series.y[k]);
    if (!finite) {
      if (run == 1) {
        dots +=
            fmt::format(R"(<circle class="dot {}" cx="{:.1f}" cy="{:.1f}" r="2.5"/>)", series.style,
                        frame.x.pixel(series.x[k - 1]), frame.y.pixel(series.y[k - 1]));
      }
      run = 0;
      continue;
    }
    path += fmt::format("{}{:.1f} {:.1f}", run == 0 ? "M" : "L", frame.x.pixel(series.x[k]),
                        frame.y.pixel(series.y[k]));
    ++run;
  }
  return fmt::format(R"(<path class="line {}" d="{}"/>{})", series.style, path, dots);
}

std::string json_numbers(const std::vector<double>& values) {
  std::string out = "[";
  for (const double value : values) {
    if (out.size() > 1) out += ',';
    out += std::isfinite(value) ? fmt::format("{:.5g}", value) : "null";
  }
  return out + "]";
}

// Steps are whole and may be long: they keep all their digits.
std::string json_steps(const std::vector<double>& values) {
  std::string out = "[";
  for (const double value : values) {
    out += fmt::format("{}{:.0f}", out.size() > 1 ? "," : "", value);
  }
  return out + "]";
}

// What the page's script needs to show values under the pointer.
std::string hover_json(const Chart& chart, const Frame& frame, bool percent) {
  std::string series;
  for (const Series& s : chart.series) {
    if (s.style.find("faint") != std::string::npos) continue;
    series +=
        fmt::format(R"({}{{"name":"{}","style":"{}","x":{},"y":{}}})", series.empty() ? "" : ",",
                    s.name, s.style, json_steps(s.x), json_numbers(s.y));
  }
  return fmt::format(
      R"({{"low":{},"high":{},"left":{},"right":{},"top":{},"bottom":{},"percent":{},)"
      R"("series":[{}]}})",
      frame.x.low(), frame.x.high(), kLeft, kWidth - kRight, kTop, kHeight - kBottom, percent,
      series);
}

std::string legend_html(const Chart& chart) {
  std::string out;
  for (const Series& series : chart.series) {
    if (series.name.empty() || series.style.find("faint") != std::string::npos) continue;
    out += fmt::format(R"(<span class="key {}"><i></i>{}</span>)", series.style,
                       escape_markup(series.name));
  }
  return out;
}

std::string figure(const Chart& chart, const std::string& body, const std::string& hover) {
  return fmt::format(
      R"(<figure><figcaption><b>{}</b> <small>{}</small><span class="keys">{}</span></figcaption>)"
      R"(<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}" data-hover="{}">{}</svg>)"
      "</figure>\n",
      escape_markup(chart.title), escape_markup(chart.note), legend_html(chart), kWidth, kHeight,
      escape_markup(chart.title), escape_markup(hover), body);
}

bool has_value(const Chart& chart) {
  const auto finite = [](double value) { return std::isfinite(value); };
  return std::any_of(chart.series.begin(), chart.series.end(), [finite](const Series& s) {
    return std::any_of(s.y.begin(), s.y.end(), finite);
  });
}

std::string empty_figure(const Chart& chart) {
  return figure(
      chart,
      fmt::format(R"(<text class="tick" x="{}" y="{}" text-anchor="middle">no values</text>)",
                  kWidth / 2, kHeight / 2),
      "");
}

// Calls visit(first, last) for each of at most `buckets` pieces of [0, size).
template <class Visit>
void for_buckets(std::size_t size, std::size_t buckets, Visit&& visit) {
  const std::size_t count = std::min(size, buckets);
  for (std::size_t b = 0; b < count; ++b) visit(b * size / count, (b + 1) * size / count);
}

}  // namespace

std::string line_chart(const Chart& chart) {
  if (!has_value(chart)) return empty_figure(chart);
  const Frame frame = frame_of(chart);
  std::string body = axes_svg(frame, frame.y.ticks(6), false);
  for (const Series& series : chart.series) body += path_svg(series, frame);
  return figure(chart, body, hover_json(chart, frame, false));
}

std::string share_chart(const Chart& chart) {
  if (!has_value(chart)) return empty_figure(chart);
  Chart lines = chart;
  Range x;
  for (const Series& series : chart.series) x.include(series.x);
  if (x.high <= x.low) x.high = x.low + 1;
  const Frame frame{.x = Axis(x.low, x.high, kLeft, kWidth - kRight, false),
                    .y = Axis(0, 1, kHeight - kBottom, kTop, false)};
  std::string areas;
  std::vector<double> below(chart.series.front().x.size(), 0.0);
  for (const Series& series : chart.series) {
    std::string upper;
    std::string lower;
    for (std::size_t k = 0; k < below.size(); ++k) {
      const double share = std::isfinite(series.y[k]) ? series.y[k] : 0;
      const double x_px = frame.x.pixel(series.x[k]);
      upper +=
          fmt::format("{}{:.1f} {:.1f}", k == 0 ? "M" : "L", x_px, frame.y.pixel(below[k] + share));
      lower.insert(0, fmt::format("L{:.1f} {:.1f}", x_px, frame.y.pixel(below[k])));
      below[k] += share;
    }
    areas += fmt::format(R"(<path class="area {}" d="{}{}Z"/>)", series.style, upper, lower);
  }
  const std::string axes = axes_svg(frame, {0, 0.25, 0.5, 0.75, 1}, true);
  return figure(chart, areas + axes, hover_json(chart, frame, true));
}

Series bucket_means(const Series& series, std::size_t buckets) {
  Series out{.name = series.name, .style = series.style, .x = {}, .y = {}};
  for_buckets(series.x.size(), buckets, [&](std::size_t first, std::size_t last) {
    double sum = 0;
    double count = 0;
    for (std::size_t k = first; k < last; ++k) {
      if (!std::isfinite(series.y[k])) continue;
      sum += series.y[k];
      ++count;
    }
    out.x.push_back(series.x[last - 1]);
    out.y.push_back(count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN());
  });
  return out;
}

Series bucket_extremes(const Series& series, std::size_t buckets) {
  if (series.x.size() <= 2 * buckets) return series;
  Series out{.name = series.name, .style = series.style, .x = {}, .y = {}};
  for_buckets(series.x.size(), buckets, [&](std::size_t first, std::size_t last) {
    Range range;
    for (std::size_t k = first; k < last; ++k) range.include(series.y[k]);
    const double gap = std::numeric_limits<double>::quiet_NaN();
    out.x.push_back(series.x[first]);
    out.y.push_back(range.empty ? gap : range.low);
    out.x.push_back(series.x[last - 1]);
    out.y.push_back(range.empty ? gap : range.high);
  });
  return out;
}

Series smoothed(const Series& series, double span) {
  Series out = series;
  const double keep = std::exp(-1 / std::max(span, 1e-3));
  double sum = 0;
  double weight = 0;
  for (double& value : out.y) {
    if (!std::isfinite(value)) continue;
    sum = keep * sum + (1 - keep) * value;
    weight = keep * weight + (1 - keep);
    value = sum / weight;
  }
  return out;
}

std::string escape_markup(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace wam
