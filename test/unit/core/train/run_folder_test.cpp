#include "core/train/run_folder.h"

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"

namespace wam {
namespace {

TEST_CASE("metrics.jsonl is cut back to the checkpoint's step") {
  const test::TempFolder temp;
  const auto path = temp.path() / "metrics.jsonl";
  CHECK(cut_metrics(path, 2).kept == 0);  // no file
  const std::string kept = "{\"step\":1,\"loss\":2}\n{\"step\":2}\n{\"step\":2,\"windows\":4}\n";
  write_file_atomically(path, kept + "{\"step\":3,\"loss\":1}\n{\"step\":4}\n");

  const MetricsCut cut = cut_metrics(path, 2);

  CHECK(cut.kept == 3);
  CHECK(cut.removed == 2);
  CHECK(read_file(path) == kept);
  CHECK(cut_metrics(path, 2).removed == 0);
}

TEST_CASE("Validation windows of steps after the checkpoint are removed with their metrics") {
  const test::TempFolder temp;
  const auto folder = temp.path() / "validation";
  std::filesystem::create_directories(folder);
  for (const char* name : {"step_00000002.json", "step_00000003.json", "step_100000000.json",
                           "step_00000003.txt", "step_x.json"}) {
    write_file_atomically(folder / name, "{}");
  }

  CHECK(cut_metrics(temp.path() / "metrics.jsonl", 2).validations_removed == 2);

  CHECK(std::filesystem::exists(folder / "step_00000002.json"));
  CHECK_FALSE(std::filesystem::exists(folder / "step_00000003.json"));
  CHECK_FALSE(std::filesystem::exists(folder / "step_100000000.json"));
  CHECK(std::filesystem::exists(folder / "step_00000003.txt"));
  CHECK(std::filesystem::exists(folder / "step_x.json"));
}

TEST_CASE("A last line that was cut off in writing goes, one before it is an error") {
  const test::TempFolder temp;
  const auto path = temp.path() / "metrics.jsonl";
  write_file_atomically(path, "{\"step\":1}\n{\"step\":2,\"lo");
  CHECK(cut_metrics(path, 9).removed == 1);
  CHECK(read_file(path) == "{\"step\":1}\n");

  write_file_atomically(path, "{\"step\":1}\n{\"step\":2,\"lo\n{\"step\":3}\n");
  CHECK_THROWS_AS(cut_metrics(path, 9), DataError);
  CHECK_THROWS_WITH(cut_metrics(path, 9),
                    Catch::Contains("metrics.jsonl: line 2 is not a JSON object with a step: "
                                    "{\"step\":2,\"lo") &&
                        Catch::Contains("Fix: "));
}

}  // namespace
}  // namespace wam
