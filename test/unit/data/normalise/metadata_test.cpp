#include <filesystem>
#include <string>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "data/normalise/statistics.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"

using wam::KeyStatistics;
using wam::Statistics;

namespace {

KeyStatistics some(double shift) {
  KeyStatistics s;
  s.min = {shift, -0.1};
  s.max = {shift + 1, 1e-300};
  s.mean = {shift + 0.1, 1.0 / 3};
  s.std = {0.2, 0.30000000000000004};
  s.q01 = {shift, 0};
  s.q99 = {shift + 0.9, 5};
  return s;
}

Statistics example() {
  Statistics s;
  s.tag = "arm";
  s.state = {{"joint", some(0)}};
  s.action = {{"joint", some(1)}, {"grip", some(2)}};
  s.action["joint"].relative = true;
  s.action["grip"].relative = false;
  s.video = {{"wrist", {180, 320, 15}}};
  return s;
}

}  // namespace

TEST_CASE("metadata.json reads back as it was written, to the last bit and byte") {
  const wam::test::TempFolder folder;
  const auto file = folder.path() / "metadata.json";

  wam::write_metadata(file, {{"arm", example()}});

  CHECK(wam::read_statistics(file, "arm") == example());
  CHECK(wam::metadata_text(wam::read_metadata(file)) == wam::read_file(file));
  // [width, height], as every consumer reads it.
  const auto text = wam::read_file(file);
  CHECK(text.find("320") < text.find("180"));
}

TEST_CASE("an entry goes into a file of others, in which all else stays") {
  Statistics arm = example();
  const std::string others =
      R"({"arm": {"embodiment_tag": "old"}, "other": {"note": [1, 2.5], "statistics":)"
      R"( {"state": {}, "action": {}}}})";
  CHECK_THROWS_WITH(wam::with_entry(others, "metadata.json", arm),
                    Catch::Contains("arm: has no 'statistics'"));

  arm.tag = "new";
  const auto sound = wam::metadata_text({{"arm", example()}});
  const auto text = wam::with_entry(sound, "metadata.json", arm);
  const auto entries = wam::parse_metadata(text, "metadata.json");
  CHECK(entries.at("arm") == example());
  CHECK(entries.at("new") == arm);

  arm.tag = "arm";
  arm.state.at("joint").mean[0] = 7;
  const std::string noted =
      sound.substr(0, sound.rfind('}')) +
      R"(, "other": {"note": 2.5, "statistics": {"state": {}, "action": {}}}})";
  const auto replaced = wam::with_entry(noted, "metadata.json", arm);
  CHECK(wam::parse_metadata(replaced, "metadata.json").at("arm") == arm);
  CHECK(replaced.find("\"note\": 2.5") != std::string::npos);
}

TEST_CASE("a tag that is not there is refused with the nearest one") {
  const wam::test::TempFolder folder;
  const auto file = folder.path() / "metadata.json";
  wam::write_metadata(file, {{"arm", example()}});

  CHECK_THROWS_WITH(wam::read_statistics(file, "amr"), Catch::Contains("did you mean 'arm'?"));
}

TEST_CASE("a damaged metadata.json is refused with file, tag and key") {
  const wam::test::TempFolder folder;
  const auto file = folder.path() / "metadata.json";
  const auto altered = [&](const std::string& from, const std::string& to) {
    std::string text = wam::metadata_text({{"arm", example()}});
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
    wam::write_file_atomically(file, text);
  };

  altered("\"q99\"", "\"q98\"");
  CHECK_THROWS_WITH(wam::read_metadata(file),
                    Catch::Contains("arm.statistics.action.grip: has no 'q99'") &&
                        Catch::Contains("metadata.json") && Catch::Contains("Fix:"));
  altered("\"max\": [", "\"max\": [7,");
  CHECK_THROWS_WITH(wam::read_metadata(file), Catch::Contains("max: has 3 values where min has 2"));
  altered("\"relative\": false", "\"relative\": 1");
  CHECK_THROWS_WITH(wam::read_metadata(file), Catch::Contains("'relative' is neither"));
  wam::write_file_atomically(file, "{\"arm\":");
  CHECK_THROWS_WITH(wam::read_metadata(file), Catch::Contains("not JSON"));
}
