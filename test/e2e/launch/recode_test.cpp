// scripts/recode_videos.sh on the sample world.
#include <filesystem>
#include <string>

#include "test/e2e/support/shell.h"
#include "test/e2e/support/tiny_run.h"
#include "test/support/catch.h"

using Catch::Contains;
using wam::test::bash;
using wam::test::file_content;
using wam::test::TinyRuns;

// A keyframe every two frames, and times as they were; the dataset itself untouched.
constexpr const char* kCompare = R"sh(set -e
times() { for f in $(find "$1" -name '*.mp4' | sort); do
  ffprobe -v error -select_streams v:0 -show_entries packet=pts_time -of csv=p=0 "$f" | sort -g; done; }
keys() { for f in $(find "$1" -name '*.mp4' | sort); do
  ffprobe -v error -select_streams v:0 -show_entries packet=flags -of csv=p=0 "$f"; done; }
test -n "$(times data)" && diff <(times data) <(times fast)
all=$(keys fast | wc -l); key=$(keys fast | grep -c K); test $((2 * key)) -ge "$all"
diff -r data before
grep -q '"video.codec": "h264"' fast/meta/info.json || grep -q '"codec": "h264"' fast/meta/info.json
)sh";

TEST_CASE("recode: the frames stay, their coding changes, and a training run reads them") {
  const TinyRuns runs;
  if (bash(runs.path(), "command -v ffmpeg && ffmpeg -encoders | grep libx264") != 0) {
    WARN("SKIPPED: no ffmpeg with libx264");
    return;
  }
  const std::string make_videos =
      "rm -rf data && " WAM_PROGRAM " sample --out data --episodes 3 && cp -r data before\n";
  const std::string recode = "$scripts/recode_videos.sh data fast";

  const int code = bash(runs.path(), make_videos + recode);

  INFO(file_content(runs.path() / "said"));
  REQUIRE(code == 0);
  CHECK_THAT(file_content(runs.path() / "said"), Contains("9 of 9 videos"));
  CHECK(bash(runs.path(), kCompare) == 0);
  const auto trained =
      runs.train("run", {"data.datasets=[{path: fast, embodiment: tiny}]", "train.steps=2"});
  INFO(trained.err);
  CHECK(trained.exit_code == 0);
  // What is there stays, and the dataset itself is no place for the result.
  const auto video = *std::filesystem::recursive_directory_iterator(runs.path() / "fast/videos");
  const auto written = std::filesystem::last_write_time(video.path());
  CHECK(bash(runs.path(), recode) == 0);
  CHECK(std::filesystem::last_write_time(video.path()) == written);
  CHECK(bash(runs.path(), "$scripts/recode_videos.sh data data") == 2);
  CHECK(bash(runs.path(), "$scripts/recode_videos.sh run other") == 2);
}
