#include "core/report/report.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/errors.h"
#include "core/base/format.h"
#include "core/io/atomic_file.h"
#include "core/report/action_plots.h"
#include "core/report/axis.h"
#include "core/report/chart.h"
#include "core/report/page_assets.h"

namespace wam {
namespace {

constexpr std::size_t kBuckets = 400;      // points of a curve
constexpr std::size_t kTimeBuckets = 120;  // of the shares of time

template <class Row>
Series series_of(const std::string& name,
                 const std::string& style,
                 const std::vector<Row>& rows,
                 double Row::*field) {
  Series out{.name = name, .style = style, .x = {}, .y = {}};
  for (const Row& row : rows) {
    out.x.push_back(static_cast<double>(row.step));
    out.y.push_back(row.*field);
  }
  return out;
}

bool has_values(const Series& series) {
  return std::any_of(series.y.begin(), series.y.end(), [](double v) { return std::isfinite(v); });
}

// ---- Header -------------------------------------------------------------------------------------

std::string tile(const std::string& label, const std::string& value, bool bad = false) {
  return fmt::format(R"(<div class="tile{}"><small>{}</small><b>{}</b></div>)", bad ? " bad" : "",
                     escape_markup(label), escape_markup(value));
}

std::string short_number(double value) {
  return std::isfinite(value) ? fmt::format("{:.4g}", value) : "not finite";
}

double total_seconds(const std::vector<StepRow>& steps) {
  double sum = 0;
  for (const StepRow& row : steps) sum += std::isfinite(row.step_s) ? row.step_s : 0;
  return sum;
}

// Of the finite values; NaN when there is none.
double median(std::vector<double> values) {
  std::erase_if(values, [](double v) { return !std::isfinite(v); });
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double best_error(const std::vector<ValidationRow>& rows) {
  Range range;
  for (const ValidationRow& row : rows) range.include(row.action_error);
  return range.empty ? std::numeric_limits<double>::quiet_NaN() : range.low;
}

std::string validation_tiles(const RunData& run) {
  if (run.validations.empty()) return {};
  const ValidationRow& last = run.validations.back();
  std::string out = tile("action error, last", short_number(last.action_error));
  out += tile("action error, best", short_number(best_error(run.validations)));
  const double ratio = last.action_error / last.mean_action_error;
  if (std::isfinite(ratio)) {
    out += tile("against mean action", fmt::format("{:.0f} %", 100 * ratio));
  }
  return out;
}

std::string header(const RunData& run) {
  const StepRow& last = run.steps.back();
  const auto skipped = std::count_if(run.steps.begin(), run.steps.end(),
                                     [](const StepRow& row) { return row.skipped; });
  std::string tiles = tile("steps", with_commas(last.step));
  if (std::isfinite(last.samples_seen)) {
    tiles += tile("samples seen", with_commas(static_cast<std::int64_t>(last.samples_seen)));
  }
  if (std::isfinite(last.epoch)) tiles += tile("epochs", fmt::format("{:.2f}", last.epoch));
  const Series loss = smoothed(series_of("", "", run.steps, &StepRow::loss), 20);
  tiles += tile("loss, smoothed", short_number(loss.y.back()), !std::isfinite(loss.y.back()));
  tiles += validation_tiles(run);
  const double rate = median(series_of("", "", run.steps, &StepRow::samples_per_s).y);
  if (std::isfinite(rate)) tiles += tile("samples/s, median", short_number(rate));
  Range memory;
  for (const StepRow& row : run.steps) memory.include(row.peak_memory_bytes);
  if (!memory.empty && memory.high > 0) tiles += tile("peak memory", human_bytes(memory.high));
  tiles += tile("time in steps", human_seconds(total_seconds(run.steps)));
  if (skipped > 0) tiles += tile("skipped updates", with_commas(skipped), true);
  return fmt::format(
      "<h1>{}</h1><p>Training report up to step {}.</p><div class=\"tiles\">{}</div>\n",
      escape_markup(run.name), with_commas(last.step), tiles);
}

// ---- Sections -----------------------------------------------------------------------------------

std::string section(const std::string& title, const std::string& body) {
  return fmt::format("<section><h2>{}</h2>{}</section>\n", escape_markup(title), body);
}

std::string charts(const std::string& body) {
  return fmt::format("<div class=\"charts\">{}</div>\n", body);
}

// The raw curve behind its smoothed one.
void add_smoothed(Chart& chart, const Series& raw) {
  Series faint = bucket_extremes(raw, kBuckets);
  faint.style += " faint";
  chart.series.insert(chart.series.begin(), std::move(faint));
  const double span = std::clamp(static_cast<double>(raw.x.size()) / 50, 1.0, 200.0);
  chart.series.push_back(bucket_means(smoothed(raw, span), kBuckets));
}

std::string loss_section(const RunData& run) {
  const auto& steps = run.steps;
  Chart loss{.title = "Loss", .note = "raw and smoothed", .series = {}, .may_be_logarithmic = true};
  add_smoothed(loss, series_of("loss", "c1", steps, &StepRow::loss));
  Chart parts{.title = "Parts of the loss",
              .note = "raw and smoothed",
              .series = {},
              .may_be_logarithmic = true};
  add_smoothed(parts, series_of("video", "c2", steps, &StepRow::video_loss));
  add_smoothed(parts, series_of("action", "c3", steps, &StepRow::action_loss));
  Chart norm{.title = "Gradient norm",
             .note = "before clipping",
             .series = {},
             .may_be_logarithmic = true};
  add_smoothed(norm, series_of("norm", "c1", steps, &StepRow::grad_norm));
  Chart rate{
      .title = "Learning rate",
      .note = "",
      .series = {bucket_means(series_of("rate", "c1", steps, &StepRow::learning_rate), kBuckets)},
      .from_zero = true};
  return section("Training", charts(line_chart(loss) + line_chart(parts) + line_chart(norm) +
                                    line_chart(rate)));
}

std::string value_cell(const std::vector<double>& values, std::size_t k) {
  const bool known = k < values.size();
  return fmt::format("<td>{}</td>", known ? short_number(values[k]) : "");
}

std::string error_table(const ValidationRow& row) {
  const std::size_t count =
      std::max(row.action_error_per_dim.size(), row.action_error_physical.size());
  if (count == 0) return {};
  std::string body;
  for (std::size_t k = 0; k < count; ++k) {
    const std::string name =
        k < row.action_names.size() ? row.action_names[k] : fmt::format("action[{}]", k);
    body += fmt::format("<tr><td>{}</td>{}{}</tr>", escape_markup(name),
                        value_cell(row.action_error_per_dim, k),
                        value_cell(row.action_error_physical, k));
  }
  return fmt::format(
      "<div class=\"card scroll\"><h3>Action error by value at step {}</h3>"
      "<table><tr><th>value</th><th>normalised</th><th>in the data's "
      "units</th></tr>{}</table></div>",
      with_commas(row.step), body);
}

std::string validation_section(const RunData& run) {
  if (run.validations.empty()) {
    return section("Validation", "<p>This run has no validation yet.</p>");
  }
  const auto& rows = run.validations;
  Chart error{.title = "Action error",
              .note = "mean absolute, normalised units",
              .series = {series_of("model", "c1", rows, &ValidationRow::action_error)},
              .from_zero = true};
  const Series mean =
      series_of("mean action", "c4 dashed", rows, &ValidationRow::mean_action_error);
  const Series shuffled = series_of("shuffled inputs", "c2", rows, &ValidationRow::shuffled_error);
  if (has_values(mean)) error.series.push_back(mean);
  if (has_values(shuffled)) error.series.push_back(shuffled);
  Chart loss{.title = "Losses on held-back windows",
             .note = "",
             .series = {series_of("video", "c2", rows, &ValidationRow::video_loss),
                        series_of("action", "c3", rows, &ValidationRow::action_loss)},
             .may_be_logarithmic = true};
  std::string body;
  if (std::isfinite(rows.back().windows)) {
    body = fmt::format("<p>{} held-back windows, always the same ones with the same draws.</p>",
                       with_commas(static_cast<std::int64_t>(rows.back().windows)));
  }
  body += charts(line_chart(error) + line_chart(loss));
  return section("Validation", body + "<br>" + error_table(rows.back()));
}

// Seconds of each kind in a row of steps.
struct TimeSpent {
  double compute = 0;
  double data = 0;
  double checkpoint = 0;

  void add(const StepRow& row) {
    if (!std::isfinite(row.step_s)) return;
    const double waited = std::isfinite(row.data_wait_s) ? row.data_wait_s : 0;
    const double saved = std::isfinite(row.checkpoint_s) ? row.checkpoint_s : 0;
    data += waited;
    checkpoint += saved;
    compute += std::max(0.0, row.step_s - waited - saved);
  }
  [[nodiscard]] double total() const { return compute + data + checkpoint; }
  // Asking whether one is written takes microseconds.
  [[nodiscard]] bool shows_checkpoints() const { return checkpoint >= 5e-4 * total(); }
};

Chart time_chart(const std::vector<StepRow>& steps) {
  Chart out{.title = "Where the time went",
            .note = "share of the time",
            .series = {{.name = "compute", .style = "c1", .x = {}, .y = {}},
                       {.name = "waiting for data", .style = "c2", .x = {}, .y = {}},
                       {.name = "checkpoint", .style = "c3", .x = {}, .y = {}}}};
  const std::size_t count = std::min(steps.size(), kTimeBuckets);
  bool any_checkpoint = false;
  for (std::size_t b = 0; b < count; ++b) {
    TimeSpent spent;
    const std::size_t last = (b + 1) * steps.size() / count;
    for (std::size_t k = b * steps.size() / count; k < last; ++k) spent.add(steps[k]);
    if (spent.total() <= 0) continue;
    any_checkpoint = any_checkpoint || spent.shows_checkpoints();
    const double values[] = {spent.compute, spent.data, spent.checkpoint};
    for (std::size_t s = 0; s < out.series.size(); ++s) {
      out.series[s].x.push_back(static_cast<double>(steps[last - 1].step));
      out.series[s].y.push_back(values[s] / spent.total());
    }
  }
  if (!any_checkpoint) out.series.pop_back();
  return out;
}

std::string time_sentence(const std::vector<StepRow>& steps) {
  TimeSpent spent;
  for (const StepRow& row : steps) spent.add(row);
  if (spent.total() <= 0) return {};
  const bool checkpoints = spent.shows_checkpoints();
  std::string out = fmt::format("<p>Of {} in steps, {:.1f} % went into waiting for data",
                                human_seconds(spent.total()), 100 * spent.data / spent.total());
  if (checkpoints) {
    out += fmt::format(" and {:.1f} % into checkpoints", 100 * spent.checkpoint / spent.total());
  }
  return out + ".</p>";
}

std::string speed_section(const RunData& run) {
  Chart rate{
      .title = "Samples per second", .note = "raw and smoothed", .series = {}, .from_zero = true};
  add_smoothed(rate, series_of("samples/s", "c1", run.steps, &StepRow::samples_per_s));
  return section("Speed", time_sentence(run.steps) +
                              charts(line_chart(rate) + share_chart(time_chart(run.steps))));
}

std::string window_card(const ActionWindow& window, const std::vector<ActionWindow>& windows) {
  return fmt::format(
      "<div class=\"card{}\"><h3>“{}”</h3><p>data set {}, episode {}, frame {} · mean absolute "
      "difference {}</p><div class=\"scroll\">{}</div></div>\n",
      wide_plots(window) ? " wide" : "", escape_markup(window.prompt), window.dataset,
      window.episode, window.frame, short_number(action_difference(window)),
      action_plots(window, windows));
}

std::string actions_section(const RunData& run) {
  if (run.windows.empty()) return {};
  std::string body = fmt::format(
      "<p>Held-back windows at step {}: actions over the window's action steps, in the data's own "
      "units. <span class=\"keys\" style=\"display:inline-flex;margin-left:12px\"><span "
      "class=\"key "
      "c4\"><i></i>recorded</span><span class=\"key c1\"><i></i>predicted</span></span></p>",
      with_commas(run.window_step));
  std::string cards;
  for (const ActionWindow& window : run.windows) cards += window_card(window, run.windows);
  return section("Recorded and predicted actions",
                 body + fmt::format("<div class=\"windows\">{}</div>", cards));
}

}  // namespace

std::string report_page(const RunData& run) {
  const std::string recipe = section(
      "Recipe", fmt::format("<div class=\"card\"><pre>{}</pre></div>", escape_markup(run.recipe)));
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
      "<title>{} · wamtrain report</title><style>{}</style></head><body><main>\n{}{}{}{}{}{}"
      "</main><script>{}</script></body></html>\n",
      escape_markup(run.name), kReportStyle, header(run), loss_section(run),
      validation_section(run), speed_section(run), actions_section(run), recipe, kReportScript);
}

std::filesystem::path write_report(const std::filesystem::path& run_folder) {
  std::filesystem::path path = run_folder / "report.html";
  write_file_atomically(path, report_page(read_run(run_folder)));
  return path;
}

void write_action_picture(const std::filesystem::path& run_folder,
                          const std::filesystem::path& svg,
                          std::size_t max_windows) {
  const RunData run = read_run(run_folder);
  require<DataError>(!run.windows.empty(),
                     "drawing the actions of the run {}: it has no validation windows.\nFix: set "
                     "validate.every, and train until the first validation.",
                     run_folder.string());
  write_file_atomically(svg, action_picture(run.windows, max_windows));
}

}  // namespace wam
