#include "core/report/run_data.h"

#include <cmath>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"

namespace wam {
namespace {

struct RunFolder {
  test::TempFolder temp;
  std::filesystem::path path = temp.path() / "run";

  explicit RunFolder(const std::string& metrics) {
    std::filesystem::create_directories(path / "validation");
    write_file_atomically(path / "metrics.jsonl", metrics);
    write_file_atomically(path / "recipe.yaml", "run: {seed: 1}\n");
  }
};

}  // namespace

TEST_CASE("Steps and validations are read, numbers that are not finite included") {
  const RunFolder folder(
      "{\"step\":1,\"loss\":2.5,\"step_s\":0.5,\"checkpoint_s\":0.25,\"unknown\":[1]}\n"
      "{\"step\":2,\"loss\":\"nan\",\"grad_norm\":\"inf\",\"video_loss\":null,\"skipped\":true}\n"
      "{\"step\":2,\"validation\":{\"windows\":4,\"action_error\":0.3,\"mean_action_error\":0.6,"
      "\"action_names\":[\"a\",\"b\"],\"action_error_per_dim\":[0.1,\"nan\"]}}\n");

  const RunData run = read_run(folder.path);

  CHECK(run.name == "run");
  REQUIRE(run.steps.size() == 2);
  CHECK(run.steps[0].loss == 2.5);
  CHECK(run.steps[0].checkpoint_s == 0.25);
  CHECK(std::isnan(run.steps[1].checkpoint_s));
  CHECK(std::isnan(run.steps[0].grad_norm));
  CHECK(std::isnan(run.steps[1].loss));
  CHECK(std::isinf(run.steps[1].grad_norm));
  CHECK(run.steps[1].skipped);
  REQUIRE(run.validations.size() == 1);
  CHECK(run.validations[0].action_error == 0.3);
  CHECK(run.validations[0].action_names == std::vector<std::string>{"a", "b"});
  CHECK(std::isnan(run.validations[0].action_error_per_dim.at(1)));
  CHECK(std::isnan(run.validations[0].shuffled_error));
  CHECK(run.recipe == "run: {seed: 1}\n");
}

TEST_CASE("A last line that is being written is passed over") {
  const RunFolder folder("{\"step\":1,\"loss\":1}\n{\"step\":2,\"lo");

  CHECK(read_run(folder.path).steps.size() == 1);
}

TEST_CASE("A broken line before the last is an error which names it") {
  const RunFolder folder("{\"step\":1}\n{\"step\":2,\"lo\n{\"step\":3}\n");

  CHECK_THROWS_WITH(read_run(folder.path),
                    Catch::Contains("metrics.jsonl") && Catch::Contains("line 2"));
}

TEST_CASE("Steps that were done again replace the first ones") {
  const RunFolder folder(
      "{\"step\":1,\"loss\":1}\n{\"step\":2,\"loss\":2}\n{\"step\":3,\"loss\":3}\n"
      "{\"step\":2,\"loss\":4}\n");

  const RunData run = read_run(folder.path);

  REQUIRE(run.steps.size() == 2);
  CHECK(run.steps[1].loss == 4);
}

TEST_CASE("A folder that is no run, and a run without a step, are refused in words") {
  const test::TempFolder empty;
  const RunFolder fresh("");

  CHECK_THROWS_WITH(read_run(empty.path()),
                    Catch::Contains("metrics.jsonl is not there") && Catch::Contains("Fix: "));
  CHECK_THROWS_WITH(read_run(fresh.path), Catch::Contains("no finished training step"));
  std::filesystem::remove(fresh.path / "recipe.yaml");
  CHECK_THROWS_WITH(read_run(fresh.path), Catch::Contains("recipe.yaml is not there"));
}

TEST_CASE("The newest validation windows are taken") {
  const RunFolder folder("{\"step\":200}\n");
  const std::string window =
      "{\"windows\":[{\"id\":{\"dataset\":0,\"episode\":3,\"frame\":17},\"prompt\":\"p\","
      "\"truth\":[[1,2],[3,4]],\"prediction\":[[1,2],[3,\"nan\"]],\"names\":[\"a\",\"b\"]}]}";
  write_file_atomically(folder.path / "validation/step_00000090.json", "{\"windows\":[]}");
  write_file_atomically(folder.path / "validation/step_00000200.json", window);

  const RunData run = read_run(folder.path);

  CHECK(run.window_step == 200);
  REQUIRE(run.windows.size() == 1);
  CHECK(run.windows[0].episode == 3);
  CHECK(run.windows[0].truth.at(1).at(0) == 3);
  CHECK(std::isnan(run.windows[0].prediction.at(1).at(1)));
}

TEST_CASE("Windows of unequal shape are refused") {
  const test::TempFolder folder;
  const auto file = folder.path() / "step_00000001.json";
  write_file_atomically(file,
                        "{\"windows\":[{\"id\":{\"dataset\":0,\"episode\":3,\"frame\":17},"
                        "\"truth\":[[1,2],[3,4]],\"prediction\":[[1,2]]}]}");

  CHECK_THROWS_WITH(read_windows(file), Catch::Contains("episode 3") && Catch::Contains("Fix: "));
  write_file_atomically(file, "[]");
  CHECK_THROWS_AS(read_windows(file), DataError);
}

}  // namespace wam
