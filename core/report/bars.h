#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wam {

// How many values lie in each of equally wide parts of [low, high].
struct Bars {
  std::string title;
  std::string note;  // beside the title
  std::string style = "c1";
  double low = 0;
  double high = 0;
  std::vector<std::int64_t> counts;
  std::int64_t below = 0;  // outside of the bars: said beneath them
  std::int64_t above = 0;
  std::vector<double> marks;  // values to mark
};

// Whole numbers in at most `most` parts of whole width.
Bars bars_of(const std::vector<std::int64_t>& values, std::size_t most);

// A small SVG figure with the classes of report_style.
std::string bar_chart(const Bars& bars);

}  // namespace wam
