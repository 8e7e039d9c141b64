#include "data/check/page.h"

#include <algorithm>

#include <fmt/core.h>

#include "core/base/format.h"
#include "core/report/bars.h"
#include "core/report/chart.h"
#include "core/report/page_assets.h"
#include "data/check/base64.h"
#include "data/check/text.h"
#include "data/video/jpeg.h"

namespace wam {
namespace {

constexpr std::size_t kShownFaults = 50;  // of a kind
constexpr std::size_t kOpenFaults = 5;    // groups of up to so many are shown unfolded
constexpr std::int64_t kMaxWidth = 480;   // of a picture
constexpr std::size_t kLengthBars = 48;

constexpr const char* kStyle = R"css(
.tiles{grid-template-columns:repeat(auto-fit,minmax(112px,1fr))}
.bars{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,230px),1fr));gap:12px}
figure.small{padding:10px 12px 4px}
figure.small figcaption{font-size:13px;gap:0 8px;overflow-wrap:anywhere}
.verdict{border-left:5px solid var(--c3);font-size:16px;color:var(--ink)}
.verdict.bad{border-color:var(--bad)}
details{border-top:1px solid var(--rule);padding:9px 0}
details:first-of-type{border-top:0}
summary{cursor:pointer}
summary b{margin-right:8px}
summary small,.fix{color:var(--soft)}
.tag{display:inline-block;margin-left:8px;padding:1px 8px;border-radius:9px;font-size:12.5px;
border:1px solid var(--rule);color:var(--soft)}
.tag.bad{color:var(--bad);border-color:var(--bad)}
.found td{text-align:left;white-space:normal;vertical-align:top;overflow-wrap:anywhere}
.found td:first-child{width:12.5em}
.found small{color:var(--soft)}
.found{margin-top:6px;width:100%}
.fix{font-size:14px;margin:6px 0 0;white-space:pre-wrap}
.strip{display:grid;grid-template-columns:repeat(5,minmax(0,1fr));gap:8px}
.strip figure{padding:0;border:0;background:none}
.strip img{display:block;width:100%;border-radius:6px}
.strip figcaption{margin:3px 0 0;font-size:12.5px;color:var(--soft)}
@media (max-width:700px){.found td:first-child{width:6.5em}.strip{grid-template-columns:repeat(2,minmax(0,1fr))}}
)css";

std::string tile(const std::string& label, const std::string& value, bool bad = false) {
  return fmt::format(R"(<div class="tile{}"><small>{}</small><b>{}</b></div>)", bad ? " bad" : "",
                     escape_markup(label), escape_markup(value));
}

std::string section(const std::string& title, const std::string& body) {
  return fmt::format("<section><h2>{}</h2>{}</section>\n", escape_markup(title), body);
}

std::int64_t count(const CheckReport& report, Severity severity) {
  return std::count_if(report.faults.begin(), report.faults.end(),
                       [&](const Fault& fault) { return severity_of(fault.kind) == severity; });
}

std::string tiles(const CheckReport& report) {
  std::string out = tile("episodes", with_commas(report.num_episodes));
  out += tile("rows", with_commas(report.num_rows()));
  out += tile(fmt::format("windows of {} blocks", report.blocks), with_commas(report.num_windows()),
              report.num_windows() == 0);
  if (report.picture) {
    out += tile(fmt::format("{} cameras, height x width", report.cameras.size()),
                fmt::format("{}x{}", report.picture->height, report.picture->width));
  }
  out += tile("frames/s", fmt::format("{:.4g}", report.fps));
  if (report.sheet.cost.samples > 0) {
    out += tile("cores for a GPU, 5B",
                fmt::format("{:.2g}", kGpuNeeds[0].samples_s * report.sheet.cost.total_s()));
  }
  const auto faults = count(report, Severity::kFault);
  out += tile("faults", with_commas(faults), faults > 0);
  out += tile("notes", with_commas(count(report, Severity::kNote)));
  return fmt::format("<div class=\"tiles\">{}</div>", out);
}

std::string fault_row(const Fault& fault) {
  std::string place = fault.episode ? fmt::format("episode {}", *fault.episode) : std::string();
  if (fault.frame) place += fmt::format(", frame {}", *fault.frame);
  const std::string file = fault.file.empty()
                               ? fault.file
                               : fmt::format("<br><small>{}</small>", escape_markup(fault.file));
  return fmt::format("<tr><td>{}</td><td>{}{}</td></tr>", place, escape_markup(fault.message),
                     file);
}

using Faults = std::vector<Fault>::const_iterator;

std::string group_html(Faults begin, Faults end) {
  const auto total = static_cast<std::size_t>(end - begin);
  const std::size_t shown = std::min(total, kShownFaults);
  std::string rows;
  std::vector<std::string> fixes;
  for (std::size_t i = 0; i < shown; ++i) {
    const Fault& fault = begin[static_cast<std::ptrdiff_t>(i)];
    rows += fault_row(fault);
    const bool is_known = std::find(fixes.begin(), fixes.end(), fault.fix) != fixes.end();
    if (!fault.fix.empty() && !is_known) fixes.push_back(fault.fix);
  }
  if (total > shown) {
    rows += fmt::format("<tr><td></td><td>… and {} more</td></tr>",
                        with_commas(static_cast<std::int64_t>(total - shown)));
  }
  std::string fix;
  for (const auto& text : fixes) {
    fix += fmt::format("<p class=\"fix\">{}</p>", escape_markup(fix_sentence(text)));
  }
  const bool stops = begin->effect != Effect::kNone;
  const std::string effect =
      severity_of(begin->kind) == Severity::kNote
          ? std::string()
          : fmt::format(R"(<span class="tag{}">{}</span>)", stops ? " bad" : "",
                        escape_markup(effect_text(begin->effect)));
  return fmt::format(
      "<details{}><summary><b>{}</b><small>{}</small>{}</summary><table class=\"found\">{}</table>"
      "{}</details>",
      total <= kOpenFaults ? " open" : "", name_of(begin->kind),
      with_commas(static_cast<std::int64_t>(total)), effect, rows, fix);
}

std::string faults_html(const std::vector<Fault>& all, Severity severity) {
  std::string out;
  for (auto begin = all.begin(); begin != all.end();) {
    const auto end = std::find_if(begin, all.end(), [&](const Fault& fault) {
      return fault.kind != begin->kind || fault.effect != begin->effect;
    });
    if (severity_of(begin->kind) == severity) out += group_html(begin, end);
    begin = end;
  }
  if (out.empty()) return "<p>None.</p>";
  return fmt::format("<div class=\"card\">{}</div>", out);
}

// In the shape that the model scales the canvas to.
std::string picture_html(const Sheet& sheet, const SheetRow& row, std::size_t i) {
  const std::string data = base64(encode_jpeg(row.canvas_HWC[i], kMaxWidth));
  const std::string shape =
      sheet.target_width == 0
          ? ""
          : fmt::format(R"( style="aspect-ratio:{}/{}")", sheet.target_width, sheet.target_height);
  return fmt::format(R"(<figure><img src="data:image/jpeg;base64,{}" alt="episode {}, frame {}"{}>)"
                     "<figcaption>frame {}</figcaption></figure>",
                     data, row.episode, row.frames[i], shape, row.frames[i]);
}

std::string scaled_to(const Sheet& sheet) {
  if (sheet.target_width == 0) return "";
  return fmt::format(", which is scaled to {}x{}", sheet.target_width, sheet.target_height);
}

std::string sheet_html(const CheckReport& report) {
  if (report.sheet.rows.empty()) {
    const bool quick = report.depth == CheckDepth::kQuick;
    return quick ? "<p>No picture was decoded (--quick).</p>" : "<p>No window could be shown.</p>";
  }
  std::string out = fmt::format(
      "<p>The first window of some episodes on the model's canvas{}, cropped in the middle as in "
      "validation; one again as training draws it, with crop and colours at random.</p>",
      scaled_to(report.sheet));
  for (const SheetRow& row : report.sheet.rows) {
    std::string pictures;
    for (std::size_t i = 0; i < row.frames.size(); ++i)
      pictures += picture_html(report.sheet, row, i);
    out += fmt::format(
        "<div class=\"card\"><h3>episode {}{}</h3><p>“{}”</p><div class=\"strip\">{}</div></div>",
        row.episode, row.is_jittered ? ", as in training" : "", escape_markup(row.instruction),
        pictures);
  }
  return out;
}

std::string lengths_html(const CheckReport& report) {
  std::vector<std::int64_t> lengths;
  std::vector<std::int64_t> windows;
  for (const auto& episode : report.episodes) {
    lengths.push_back(episode.length);
    windows.push_back(episode.windows);
  }
  Bars by_length = bars_of(lengths, kLengthBars);
  by_length.title = "frames of an episode";
  by_length.note = fmt::format("a window takes {}", report.shortest_episode);
  by_length.marks = {static_cast<double>(report.shortest_episode)};
  Bars by_windows = bars_of(windows, kLengthBars);
  by_windows.title = "windows of an episode";
  by_windows.style = "c3";
  return fmt::format("<div class=\"bars\">{}{}</div>", bar_chart(by_length), bar_chart(by_windows));
}

std::string dimensions_html(const CheckReport& report) {
  std::string out;
  for (const auto& dimension : report.dimensions) {
    Bars bars;
    bars.title = dimension.name;
    bars.note = fmt::format("{:.4g} to {:.4g}", dimension.min, dimension.max);
    bars.style = dimension.name.starts_with("action.") ? "c2" : "c1";
    bars.low = dimension.low;
    bars.high = dimension.high;
    bars.counts = dimension.counts;
    bars.below = dimension.below;
    bars.above = dimension.above;
    bars.marks = {dimension.q01, dimension.q99};
    out += bar_chart(bars);
  }
  return fmt::format(
      "<p>As recorded; dashed lines are the quantiles of 1 % and 99 %. Values far beyond them are "
      "counted above the bars.</p><div class=\"bars\">{}</div>",
      out);
}

std::string report_html(const CheckReport& report) {
  const std::string cost = cost_sentence(report.sheet.cost);
  std::string out = fmt::format("<h1>{}</h1><p>{}LeRobot {}, robot {}, record {}</p>{}",
                                escape_markup(report.version.empty() ? report.root : report.name),
                                report.version.empty() ? "could not be read: " : "",
                                escape_markup(report.version), escape_markup(report.robot),
                                escape_markup(report.embodiment), tiles(report));
  if (!cost.empty())
    out += fmt::format("<p style=\"margin-top:14px\">{}.</p>", escape_markup(cost));
  out += section("Faults", faults_html(report.faults, Severity::kFault));
  out += section("Notes", faults_html(report.faults, Severity::kNote));
  if (report.episodes.empty()) return out;
  out += section("Pictures", sheet_html(report));
  out += section("Episodes", lengths_html(report));
  return out + section("States and actions", dimensions_html(report));
}

}  // namespace

std::string check_page(const std::vector<CheckReport>& reports, const Judgement& judgement) {
  std::string body =
      fmt::format(R"(<div class="card verdict{}">{}.</div>)", judgement.trains() ? "" : " bad",
                  escape_markup(judgement.sentence));
  for (const auto& report : reports) body += report_html(report);
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
      "<title>{} · wamtrain check-data</title><style>{}{}</style></head><body><main>\n{}"
      "</main></body></html>\n",
      escape_markup(reports.empty() ? "" : reports.front().name), kReportStyle, kStyle, body);
}

}  // namespace wam
