#include <string>

#include <ATen/ops/full.h>

#include <nlohmann/json.hpp>

#include "data/check/base64.h"
#include "data/check/page.h"
#include "data/check/text.h"
#include "data/check/verdict.h"
#include "test/support/catch.h"

using Catch::Contains;
using wam::CheckReport;
using wam::Effect;
using wam::Fault;
using wam::FaultKind;

namespace {

// A report with `count` faults of one kind, each of an episode of its own.
CheckReport with_faults(std::int64_t count, Effect effect) {
  CheckReport report;
  report.root = "/data/set";
  report.name = "set";
  report.version = "v2.1";
  report.embodiment = "tiny";
  report.fps = 10;
  report.blocks = 4;
  report.shortest_episode = 33;
  report.num_episodes = count;
  for (std::int64_t e = 0; e < count; ++e) {
    report.faults.push_back({FaultKind::kUnreadableVideo, effect, "videos/<e>.mp4", e, 7,
                             "it is cut off", "restore it"});
    report.episodes.push_back({e, 40 + e % 60, 8 + e % 60, 0, 0, 0, 0});
  }
  return report;
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("check text: the first few of a kind, how many more, and one fix, in narrow lines") {
  const std::string text = wam::check_text(with_faults(1234, Effect::kBadSample));
  CHECK_THAT(text, Contains("unreadable video, 1,234 times: bad samples: data.on_bad_sample") &&
                       Contains("videos/<e>.mp4, episode 0, frame 7: it is cut off") &&
                       Contains("and 1,231 more"));
  CHECK(occurrences(text, "Fix: restore it.") == 1);
  std::size_t longest = 0;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const auto end = text.find('\n', begin);
    longest = std::max(longest, end - begin);
    begin = end + 1;
  }
  CHECK(longest <= 96);
}

TEST_CASE("check json: every fault, and the judgement") {
  const auto report = with_faults(100, Effect::kBadSample);
  const auto json = nlohmann::json::parse(wam::check_json({report}, wam::judge({report}, false)));
  CHECK(json.at("verdict") == "ends");
  CHECK(json.at("trains") == false);
  CHECK(json.at("num_faults") == 100);
  const auto& set = json.at("datasets").at(0);
  CHECK(set.at("faults").size() == 100);
  CHECK(set.at("faults")[3].at("kind") == "unreadable video");
  CHECK(set.at("faults")[3].at("severity") == "fault");
  CHECK(set.at("faults")[3].at("episode") == 3);
  CHECK(set.at("episodes")[59].at("frames") == 99);
  CHECK(set.at("sample_cost").is_null());
}

TEST_CASE("check verdict: the worst effect decides, and what the recipe skips") {
  const auto verdict = [](Effect effect, bool skips) {
    return wam::judge({with_faults(1, Effect::kNone), with_faults(1, effect)}, skips).verdict;
  };
  CHECK(verdict(Effect::kNone, false) == wam::Verdict::kRunsThrough);
  CHECK(verdict(Effect::kBadSample, false) == wam::Verdict::kEnds);
  CHECK(verdict(Effect::kBadSample, true) == wam::Verdict::kSkips);
  CHECK(verdict(Effect::kReadError, true) == wam::Verdict::kEnds);
  CHECK(verdict(Effect::kStart, true) == wam::Verdict::kNoStart);
}

TEST_CASE("check verdict: cores that a GPU needs, and what to do when they are many") {
  CHECK(wam::cost_sentence({}).empty());
  const std::string few = wam::cost_sentence({0.03, 0.01, 4});
  CHECK_THAT(few, Contains("40 ms of a core") && Contains("0.56 cores keep one H200 busy with") &&
                      !Contains("docs"));
  CHECK_THAT(wam::cost_sentence({0.49, 0.01, 4}),
             Contains("7 cores") && Contains("docs/data.md says what helps"));
}

TEST_CASE("check page: stands alone, escapes texts, and is no larger for 10,000 bad episodes") {
  auto report = with_faults(10'000, Effect::kBadSample);
  report.faults.push_back({FaultKind::kOutlier, Effect::kNone, {}, {}, {}, "<script>", "look"});
  wam::SheetRow row{3, "reach & <grasp>", false, {0, 8}, {}};
  row.canvas_HWC.assign(2, at::full({64, 128, 3}, 90, at::kByte));
  report.sheet.rows.push_back(row);
  report.sheet.target_height = 320;
  report.sheet.target_width = 640;
  wam::DimensionSummary dimension;
  dimension.name = "action.joint_position[0]";
  dimension.high = 1;
  dimension.counts = {3, 0, 4};
  report.dimensions.push_back(dimension);
  const std::string page = wam::check_page({report}, wam::judge({report}, false));

  CHECK(occurrences(page, "src=\"data:image/jpeg;base64,/9j/") == 2);
  CHECK(occurrences(page, "src=") == 2);
  CHECK(occurrences(page, "http") == 0);
  CHECK_THAT(page, Contains("prefers-color-scheme:dark") && Contains("&lt;script&gt;") &&
                       Contains("reach &amp; &lt;grasp&gt;") && Contains("and 9,950 more") &&
                       Contains("style=\"aspect-ratio:640/320\"") &&
                       Contains("which is scaled to 640x320") &&
                       Contains("action.joint_position[0]") && !Contains("<script>"));
  CHECK(page.size() < 200'000);
}

TEST_CASE("base64 as in RFC 4648") {
  CHECK(wam::base64("") == "");
  CHECK(wam::base64("f") == "Zg==");
  CHECK(wam::base64("fo") == "Zm8=");
  CHECK(wam::base64("foobar") == "Zm9vYmFy");
  CHECK(wam::base64("\xff\xfe\xfd") == "//79");
}

TEST_CASE("an error's text is taken apart: place, message, fix") {
  const auto text = wam::error_text(
      "LeRobot dataset /d/set, episode 3, camera front: opening the video /d/set/v/e3.mp4 (0 "
      "bytes): no moov. Fix: restore it.",
      "/d/set", "v/e3.mp4");
  CHECK(text.message == "opening the video (0 bytes): no moov");
  CHECK(text.fix == "restore it");
  CHECK(wam::error_text("plain", "/d").message == "plain");
  CHECK(wam::fix_sentence(text.fix) == "Fix: restore it.");
  CHECK(wam::fix_sentence("write:\n    state.arm: {column: a}") ==
        "Fix: write:\n    state.arm: {column: a}");
}
