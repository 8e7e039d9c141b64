#include "core/train/attempts.h"

#include <filesystem>
#include <fstream>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"

namespace wam {
namespace {

using Catch::Contains;

void append(const std::filesystem::path& file, const std::string& line) {
  std::ofstream(file, std::ios::app) << line << '\n';
}

// A start that is killed, or that ends by an error.
std::size_t crash(const test::TempFolder& run,
                  std::int64_t step,
                  const std::string& error = "",
                  const std::string& recipe_hash = "r") {
  AttemptRecord record(run.path());
  const std::size_t before = record.begin(step, recipe_hash, 3);
  if (!error.empty()) record.note_error(error);
  return before;
}

std::string refusal(const test::TempFolder& run, std::int64_t step) {
  try {
    AttemptRecord(run.path()).begin(step, "r", 3);
  } catch (const Error& e) {
    return e.what();
  }
  return "not refused";
}

TEST_CASE("Attempts: the fourth start from a step where three crashed is refused with a summary") {
  const test::TempFolder run;
  CHECK(crash(run, 20) == 0);
  append(run.path() / "metrics.jsonl", R"({"step":23,"loss":1})");
  CHECK(crash(run, 20, "reading episode 7: cut short") == 1);
  append(run.path() / "metrics.jsonl", R"({"step":24,"loss":1})");
  append(run.path() / "metrics.jsonl", R"({"step":25,"lo)");
  CHECK(crash(run, 20, "invalid \xff text") == 2);
  for (int i = 0; i < 9; ++i) append(run.path() / "log.txt", "line " + std::to_string(i));

  const std::string message = refusal(run, 20);

  CHECK_THAT(message, Contains("the run crashed 3 times in a row after starting from step 20, and "
                               "is not started again:"));
  CHECK_THAT(message, Contains("came to step 23, unknown end (killed, or the machine went down)") &&
                          Contains("came to step 24, ended by: reading episode 7: cut short") &&
                          Contains("ended by: invalid "));
  CHECK_THAT(message, Contains("log.txt:\n  line 4\n") && Contains("\n  line 8\n"));
  CHECK_THAT(message,
             Contains("Fix: ") && Contains("--set run.max_crashes=0") && Contains("attempts.json"));
  CHECK(refusal(run, 20) == message);  // asking again changes nothing
  CHECK(AttemptRecord(run.path()).begin(20, "r", 0) == 3);
}

TEST_CASE("Attempts: progress, another recipe and an end of its own begin a new count") {
  const test::TempFolder run;
  for (int i = 0; i < 3; ++i) crash(run, 20);
  SECTION("a later step") {
    CHECK(crash(run, 30) == 0);
  }
  SECTION("an earlier one, as when a run goes back") {
    CHECK(crash(run, 10) == 0);
  }
  SECTION("another recipe") {
    CHECK(crash(run, 20, "", "other") == 0);
  }
  SECTION("an end") {
    AttemptRecord(run.path()).clear();
    CHECK(crash(run, 20) == 0);
    CHECK(crash(run, 20) == 1);
  }
  SECTION("a record that is damaged") {
    write_file_atomically(run.path() / "attempts.json", "{\"step\": 20");
    CHECK(crash(run, 20) == 0);
  }
}

TEST_CASE("Attempts: an error before the start was noted leaves no trace") {
  const test::TempFolder run;
  AttemptRecord record(run.path());

  record.note_error("the recipe is wrong");

  CHECK(std::filesystem::is_empty(run.path()));
}

TEST_CASE("Attempts: without a step that was finished the summary says so") {
  const test::TempFolder run;
  for (int i = 0; i < 3; ++i) crash(run, 0, "out of memory");

  CHECK_THAT(refusal(run, 0), Contains("came to no step, ended by: out of memory"));
}

}  // namespace
}  // namespace wam
