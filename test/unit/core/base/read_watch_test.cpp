#include "core/base/read_watch.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/now_reading.h"
#include "test/support/catch.h"

using namespace std::chrono_literals;

namespace {

// What a watch has said.
class Said {
 public:
  wam::ReadWatchOptions options(std::chrono::milliseconds limit) {
    return {.limit = limit,
            .on_slow = [this](const std::string& line) { add(slow_, line); },
            .on_stall = [this](const std::string& error) { add(stalls_, error); }};
  }
  std::vector<std::string> slow() { return copy(slow_); }
  std::vector<std::string> stalls() { return copy(stalls_); }

 private:
  using Lines = std::vector<std::string>;
  void add(Lines& lines, const std::string& line) {
    const std::lock_guard lock(mutex_);
    lines.push_back(line);
  }
  Lines copy(const Lines& lines) {
    const std::lock_guard lock(mutex_);
    return lines;
  }

  std::mutex mutex_;
  Lines slow_;
  Lines stalls_;
};

}  // namespace

TEST_CASE("read watch: a reading that does not end is named, once as slow and once as stalled") {
  Said said;
  const wam::ReadWatch watch(said.options(400ms));
  const wam::Reading reading("/slow/info.json");
  const auto give_up = std::chrono::steady_clock::now() + 10s;
  while (said.stalls().empty() && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(10ms);
  }
  REQUIRE(said.stalls().size() == 1);
  CHECK_THAT(said.stalls()[0],
             Catch::Contains("/slow/info.json is being read for 0.4 s") && Catch::Contains("Fix:"));
  REQUIRE(said.slow().size() == 1);
  CHECK_THAT(said.slow()[0], Catch::Contains("/slow/info.json is being read for 0.1 s"));
}

TEST_CASE("read watch: one held back among threads that go on is the one that is named") {
  Said said;
  const wam::ReadWatch watch(said.options(300ms));
  std::atomic<bool> ends = false;
  std::vector<std::thread> others;
  for (int t = 0; t < 3; ++t) {
    others.emplace_back([&, t] {
      while (!ends) {
        const wam::Reading reading("/quick/" + std::to_string(t));
        std::this_thread::sleep_for(5ms);
      }
    });
  }
  {
    const wam::Reading reading("/slow/table.parquet");
    std::this_thread::sleep_for(900ms);
  }
  ends = true;
  for (auto& thread : others) thread.join();
  REQUIRE(said.stalls().size() == 1);
  CHECK_THAT(said.stalls()[0], Catch::Contains("/slow/table.parquet is being read"));
}

TEST_CASE("read watch: many readings, and work between them, are no stall") {
  Said said;
  const wam::ReadWatch watch(said.options(250ms));
  for (int i = 0; i < 20; ++i) {
    const wam::Reading reading("/a/" + std::to_string(i));
    std::this_thread::sleep_for(20ms);
  }
  std::this_thread::sleep_for(500ms);
  CHECK(said.stalls().empty());
}

TEST_CASE("read watch: threads with a note of their own are not watched") {
  Said said;
  const wam::ReadWatch watch(said.options(100ms));
  wam::ReadingNote note;
  {
    const wam::NotedReads noted(note);
    const wam::Reading reading("/slow/episode.mp4");
    std::this_thread::sleep_for(400ms);
  }
  CHECK(said.stalls().empty());
  CHECK(note.file() == "/slow/episode.mp4");
}
