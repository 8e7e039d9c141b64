#include "core/report/report.h"

#include <cmath>
#include <limits>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "core/report/action_plots.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"

namespace wam {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

ActionWindow window_of(const std::string& prompt, std::size_t values) {
  ActionWindow out{.episode = 3,
                   .frame = 17,
                   .prompt = prompt,
                   .names = {"joint <1>"},
                   .truth = {},
                   .prediction = {}};
  for (int p = 0; p < 8; ++p) {
    out.truth.emplace_back(values, 0.1 * p);
    out.prediction.emplace_back(values, 0.1 * p + 0.25);
  }
  return out;
}

RunData synthetic_run() {
  RunData out;
  out.name = "trial & error";
  out.recipe = "run: {dir: \"<here>\"}\n";
  for (std::int64_t step = 1; step <= 40; ++step) {
    StepRow row{.step = step,
                .epoch = 0.1,
                .loss = 3.0 / static_cast<double>(step),
                .video_loss = 1,
                .action_loss = 1,
                .grad_norm = 1,
                .learning_rate = 1e-4,
                .step_s = 1,
                .data_wait_s = 0.25,
                .checkpoint_s = kNan,
                .samples_per_s = 8,
                .samples_seen = static_cast<double>(8 * step),
                .peak_memory_bytes = 2e9};
    out.steps.push_back(row);
  }
  out.steps[4].loss = kNan;
  out.steps[4].skipped = true;
  out.validations.push_back({.step = 40,
                             .windows = 4,
                             .video_loss = 1,
                             .action_loss = 1,
                             .action_error = 0.2,
                             .mean_action_error = 0.4,
                             .shuffled_error = kNan,
                             .action_names = {"joint <1>"},
                             .action_error_per_dim = {0.2},
                             .action_error_physical = {0.05}});
  out.window_step = 40;
  out.windows = {window_of("reach for the <red> block", 3)};
  return out;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("The page holds every part and needs nothing from elsewhere") {
  const std::string page = report_page(synthetic_run());

  for (const char* part :
       {"<!doctype html>", "trial &amp; error", "Parts of the loss", "Action error", "mean action",
        "50 %", "Where the time went", "25.0 % went into waiting", "skipped updates",
        "joint &lt;1&gt;", "reach for the &lt;red&gt; block",
        "run: {dir: &quot;&lt;here&gt;&quot;}", "prefers-color-scheme:dark"}) {
    CAPTURE(part);
    CHECK(has(page, part));
  }
  for (const char* part : {"<link", "src=", "@import", "url(", "https:", "shuffled inputs", "nan",
                           "into checkpoints", "<red>", "<here>"}) {
    CAPTURE(part);
    CHECK_FALSE(has(page, part));
  }
}

TEST_CASE("The page of a run without validation says so") {
  RunData run = synthetic_run();
  run.validations.clear();
  run.windows.clear();
  run.steps.resize(1);

  const std::string page = report_page(run);

  CHECK(has(page, "no validation yet"));
  CHECK_FALSE(has(page, "Recorded and predicted actions"));
}

TEST_CASE("Time in checkpoints is shown where it was measured") {
  RunData run = synthetic_run();
  run.steps[9].step_s = 11;
  run.steps[9].checkpoint_s = 10;  // of it, beside 39 steps of 1 s

  CHECK(has(report_page(run), "20.0 % into checkpoints"));
}

TEST_CASE("Plots of a window hold a truth and a prediction for each value") {
  const ActionWindow window = window_of("p", 5);
  const std::string svg = action_plots(window, {window});

  std::size_t curves = 0;
  for (std::size_t at = svg.find("class=\"line"); at != svg.npos;
       at = svg.find("class=\"line", at + 1)) {
    ++curves;
  }
  CHECK(curves == 10);
  CHECK(has(svg, "joint &lt;1&gt;"));
  CHECK(has(svg, "action[4]"));
  CHECK(wide_plots(window));
  CHECK(action_difference(window) == Approx(0.25));
}

TEST_CASE("The picture for a README stands alone and cuts long prompts between characters") {
  std::string prompt;
  for (int k = 0; k < 300; ++k) prompt += "ö";
  const std::string svg = action_picture({window_of(prompt, 2), window_of("b", 2)}, 1);

  CHECK(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  CHECK(has(svg, "<style>"));
  CHECK(has(svg, "ö…”"));
  CHECK_FALSE(has(svg, prompt));
  CHECK_FALSE(has(svg, "“b”"));
}

TEST_CASE("A report is written into the run's folder, a picture only where there are windows") {
  const test::TempFolder folder;
  write_file_atomically(folder.path() / "metrics.jsonl", "{\"step\":1,\"loss\":1}\n");
  write_file_atomically(folder.path() / "recipe.yaml", "a: 1\n");

  const auto path = write_report(folder.path());

  CHECK(path == folder.path() / "report.html");
  CHECK(has(read_file(path), "</html>"));
  CHECK_THROWS_AS(write_action_picture(folder.path(), folder.path() / "a.svg", 2), DataError);
}

}  // namespace wam
