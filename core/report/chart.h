#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wam {

// Values over training steps.
struct Series {
  std::string name;
  std::string style;  // CSS classes of report_style: "c1" … "c4" the colour, "faint", "dashed"
  std::vector<double> x;
  std::vector<double> y;  // not finite: a gap
};

struct Chart {
  std::string title;
  std::string note;  // beside the title: the unit, or what is shown
  std::vector<Series> series;
  bool from_zero = false;
  // A logarithmic axis where all values are positive and span more than a factor of 30.
  bool may_be_logarithmic = false;
};

// An SVG figure with axes, legend and the data for the page's hover values. A chart without a
// finite value says so.
std::string line_chart(const Chart& chart);

// Shares of a whole, stacked to 100 %; `series` have common x, and y in 0 to 1.
std::string share_chart(const Chart& chart);

// The series cut into at most `buckets` pieces: the means, and the smallest and largest value of
// each piece one after the other.
Series bucket_means(const Series& series, std::size_t buckets);
Series bucket_extremes(const Series& series, std::size_t buckets);

// An exponential mean over about `span` points, without the bias of its start.
Series smoothed(const Series& series, double span);

// &, <, > and quotes as HTML and XML want them.
std::string escape_markup(std::string_view text);

}  // namespace wam
