#include "core/report/chart.h"

#include <cmath>

#include "test/support/catch.h"

namespace wam {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t out = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++out;
  return out;
}

Series steps(const std::vector<double>& y) {
  Series out{.name = "loss", .style = "c1", .x = {}, .y = y};
  for (std::size_t k = 0; k < y.size(); ++k) out.x.push_back(static_cast<double>(k + 1));
  return out;
}

Chart chart_of(const std::vector<double>& y) {
  return {.title = "Loss", .note = "", .series = {steps(y)}};
}

}  // namespace

TEST_CASE("A value that is not finite leaves a gap in the line") {
  const std::string whole = line_chart(chart_of({3, 2, 1, 0.5}));
  const std::string broken = line_chart(chart_of({3, 2, std::nan(""), 1, 0.5}));

  CHECK(count(whole, "M") == 1);
  CHECK(count(broken, "M") == 2);
  CHECK(broken.find("nan") == std::string::npos);
  CHECK(broken.find("null") != std::string::npos);
}

TEST_CASE("A single value between gaps is drawn as a dot") {
  CHECK(line_chart(chart_of({1, std::nan(""), 2, std::nan("")})).find("<circle") !=
        std::string::npos);
}

TEST_CASE("A chart without a finite value says so") {
  CHECK(line_chart(chart_of({std::nan("")})).find("no values") != std::string::npos);
  CHECK(line_chart(chart_of({})).find("no values") != std::string::npos);
}

TEST_CASE("Shares stack up to the whole height") {
  Chart chart = chart_of({0.75, 0.75});
  chart.series.push_back(steps({0.25, 0.25}));

  const std::string svg = share_chart(chart);

  CHECK(count(svg, "class=\"area") == 2);
  CHECK(svg.find("M54.0 65.0L608.0 65.0L608.0 230.0L54.0 230.0Z") != std::string::npos);
  CHECK(svg.find("M54.0 10.0L608.0 10.0L608.0 65.0L54.0 65.0Z") != std::string::npos);
  CHECK(svg.find("100%") != std::string::npos);
}

TEST_CASE("Buckets keep means and extremes of long series") {
  std::vector<double> y;
  for (int k = 0; k < 1000; ++k) y.push_back(k % 10);
  y[505] = 100;
  y[7] = std::nan("");

  const Series means = bucket_means(steps(y), 100);
  const Series extremes = bucket_extremes(steps(y), 100);

  CHECK(means.x.size() == 100);
  CHECK(means.x.back() == 1000);
  CHECK(means.y[1] == Approx(4.5));
  CHECK(means.y[0] == Approx((45.0 - 7) / 9));
  CHECK(extremes.x.size() == 200);
  CHECK(extremes.y[101] == 100);
  CHECK(bucket_extremes(steps({1, 2, 3}), 100).y == std::vector<double>{1, 2, 3});
}

TEST_CASE("Smoothing keeps a constant, and forgets what is not finite") {
  const Series constant = smoothed(steps({2, 2, 2, 2}), 10);
  const Series broken = smoothed(steps({2, std::nan(""), 2}), 10);

  for (const double value : constant.y) CHECK(value == Approx(2));
  CHECK(std::isnan(broken.y[1]));
  CHECK(broken.y[2] == Approx(2));
}

TEST_CASE("Markup in texts is escaped") {
  CHECK(escape_markup("a <b> & \"c\" 'd'") == "a &lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
}

}  // namespace wam
