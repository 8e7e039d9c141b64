#include "core/report/action_plots.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "core/base/errors.h"
#include "core/report/axis.h"
#include "core/report/chart.h"

namespace wam {
namespace {

constexpr double kCellWidth = 200;
constexpr double kCellHeight = 132;
constexpr std::size_t kMaxColumns = 4;

// The plot inside its cell.
constexpr double kLeft = 38;
constexpr double kRight = 10;
constexpr double kTop = 24;
constexpr double kBottom = 22;

std::string moved(double x, double y, const std::string& body) {
  return fmt::format(R"svg(<g transform="translate({},{})">{}</g>)svg", x, y, body);
}

enum class Which { kTruth, kPrediction };

const std::vector<std::vector<double>>& rows_of(const ActionWindow& window, Which which) {
  return which == Which::kTruth ? window.truth : window.prediction;
}

std::size_t num_values(const ActionWindow& window) {
  return window.truth.front().size();
}

std::size_t columns_of(const ActionWindow& window) {
  return std::min(kMaxColumns, num_values(window));
}

std::size_t grid_rows(const ActionWindow& window) {
  const std::size_t columns = columns_of(window);
  return (num_values(window) + columns - 1) / columns;
}

double grid_width(const ActionWindow& window) {
  return kCellWidth * static_cast<double>(columns_of(window));
}

double grid_height(const ActionWindow& window) {
  return kCellHeight * static_cast<double>(grid_rows(window));
}

std::string name_of_value(const ActionWindow& window, std::size_t value) {
  return value < window.names.size() ? window.names[value] : fmt::format("action[{}]", value);
}

// Windows of one data set share the scale of a value.
Range range_of(const std::vector<ActionWindow>& windows, std::int64_t dataset, std::size_t value) {
  Range out;
  for (const ActionWindow& window : windows) {
    if (window.dataset != dataset || value >= num_values(window)) continue;
    for (const auto& row : window.truth) out.include(row[value]);
    for (const auto& row : window.prediction) out.include(row[value]);
  }
  return out.padded();
}

std::string curve(
    const ActionWindow& window, Which which, std::size_t value, const Axis& x, const Axis& y) {
  std::string path;
  bool pen_down = false;
  const auto& rows = rows_of(window, which);
  for (std::size_t p = 0; p < rows.size(); ++p) {
    if (!std::isfinite(rows[p][value])) {
      pen_down = false;
      continue;
    }
    path += fmt::format("{}{:.1f} {:.1f}", pen_down ? "L" : "M", x.pixel(static_cast<double>(p)),
                        y.pixel(rows[p][value]));
    pen_down = true;
  }
  return fmt::format(R"(<path class="line {}" d="{}"/>)",
                     which == Which::kTruth ? "truth" : "prediction", path);
}

std::string cell(const ActionWindow& window,
                 const std::vector<ActionWindow>& windows,
                 std::size_t value) {
  const Range range = range_of(windows, window.dataset, value);
  const auto last = static_cast<double>(std::max<std::size_t>(window.truth.size(), 2) - 1);
  const Axis x(0, last, kLeft, kCellWidth - kRight, false);
  const Axis y(range.low, range.high, kCellHeight - kBottom, kTop, false);
  std::string out = fmt::format(R"(<text class="name" x="{}" y="15">{}</text>)", kLeft,
                                escape_markup(name_of_value(window, value)));
  for (const double tick : y.ticks(4)) {
    out += fmt::format(R"(<line class="grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>)"
                       R"(<text class="tick" x="{}" y="{:.1f}" text-anchor="end">{}</text>)",
                       kLeft, kCellWidth - kRight, y.pixel(tick), y.pixel(tick), kLeft - 5,
                       y.pixel(tick) + 3.5, tick_label(tick));
  }
  for (const double tick : x.ticks(4)) {
    if (tick != std::floor(tick)) continue;
    out += fmt::format(R"(<text class="tick" x="{:.1f}" y="{}" text-anchor="middle">{}</text>)",
                       x.pixel(tick), kCellHeight - 7, tick_label(tick));
  }
  return out + curve(window, Which::kTruth, value, x, y) +
         curve(window, Which::kPrediction, value, x, y);
}

// The plots of a window as an SVG group at (0, 0).
std::string grid(const ActionWindow& window, const std::vector<ActionWindow>& windows) {
  const std::size_t columns = columns_of(window);
  std::string out;
  for (std::size_t value = 0; value < num_values(window); ++value) {
    const std::size_t row = value / columns;
    out += moved(kCellWidth * static_cast<double>(value % columns),
                 kCellHeight * static_cast<double>(row), cell(window, windows, value));
  }
  return out;
}

constexpr const char* kPictureStyle = R"(<style>
text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,Helvetica,Arial,sans-serif;fill:#1f2430}
.title{font-size:14px;font-weight:600}.note{font-size:12px;fill:#667085}
.name{font-size:11.5px;font-weight:600}.tick{font-size:10px;fill:#7a8291}
.grid{stroke:#e6e8ee;stroke-width:1}.line{fill:none;stroke-width:2;stroke-linejoin:round}
.truth{stroke:#8a93a6}.prediction{stroke:#2563eb}
</style>)";

constexpr double kMargin = 16;
constexpr double kHeading = 34;
constexpr double kKey = 18;

// Cut where a line of the picture ends, between characters.
std::string shortened(const std::string& text, double width) {
  constexpr double kPerCharacter = 7.6;
  auto end = static_cast<std::size_t>(width / kPerCharacter);
  if (text.size() <= end) return text;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "…";
}

std::string heading(const ActionWindow& window, double width) {
  return fmt::format(R"(<text class="title" x="{}" y="20">“{}”</text>)", kMargin,
                     escape_markup(shortened(window.prompt, width)));
}

std::string key(double right) {
  return moved(
      right - 190, 4,
      R"(<path class="line truth" d="M0 0H22"/><text class="note" x="28" y="4">recorded</text>)"
      R"(<path class="line prediction" d="M96 0H118"/>)"
      R"(<text class="note" x="124" y="4">predicted</text>)");
}

}  // namespace

double action_difference(const ActionWindow& window) {
  double sum = 0;
  double count = 0;
  for (std::size_t p = 0; p < window.truth.size(); ++p) {
    for (std::size_t a = 0; a < window.truth[p].size(); ++a) {
      sum += std::abs(window.truth[p][a] - window.prediction[p][a]);
      ++count;
    }
  }
  return sum / count;
}

bool wide_plots(const ActionWindow& window) {
  return columns_of(window) == kMaxColumns;
}

std::string action_plots(const ActionWindow& window, const std::vector<ActionWindow>& windows) {
  const double width = grid_width(window);
  return fmt::format(
      R"(<svg class="actions" viewBox="0 0 {} {}" style="max-width:{}px" role="img" )"
      R"(aria-label="recorded and predicted actions">{}</svg>)",
      width, grid_height(window), width * 1.25, grid(window, windows));
}

std::string action_picture(const std::vector<ActionWindow>& windows, std::size_t max_windows) {
  invariant(!windows.empty() && max_windows > 0, "a picture of at least one window");
  const std::vector<ActionWindow> shown(
      windows.begin(),
      windows.begin() + static_cast<std::ptrdiff_t>(std::min(windows.size(), max_windows)));
  double width = 0;
  double height = kMargin + kKey;
  std::string body;
  for (const ActionWindow& window : shown) width = std::max(width, grid_width(window));
  width += 2 * kMargin;
  for (const ActionWindow& window : shown) {
    body += moved(0, height, heading(window, width - 3 * kMargin));
    body += moved(kMargin, height + kHeading, grid(window, shown));
    height += kHeading + grid_height(window) + kMargin / 2;
  }
  return fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" width="{}" height="{}">)"
      R"({}<rect width="100%" height="100%" rx="8" fill="#ffffff"/>{}{})"
      "</svg>\n",
      width, height, width, height, kPictureStyle, moved(0, kMargin, key(width - kMargin)), body);
}

}  // namespace wam
