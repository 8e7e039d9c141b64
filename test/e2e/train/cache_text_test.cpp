#include <filesystem>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "data/lerobot_writer/writer.h"
#include "test/e2e/support/program.h"
#include "test/e2e/support/tiny_run.h"
#include "test/support/arm_format.h"
#include "test/support/catch.h"

// `wamtrain cache --what text`: prompts that are embedded before a run.

namespace fs = std::filesystem;
using Catch::Contains;
using wam::test::file_content;
using wam::test::Outcome;
using wam::test::TinyRuns;

namespace {

constexpr const char* kEncoder = "UMT5 text encoder";

Outcome cache_texts(const TinyRuns& runs,
                    const std::string& run,
                    TinyRuns::Overrides overrides,
                    int ranks = 1) {
  auto arguments = runs.arguments("cache", run, overrides);
  arguments.insert(arguments.end(), {"--what", "text"});
  auto done = runs.run(arguments, ranks);
  INFO(done.out << done.err);
  REQUIRE(done.exit_code == 0);
  return done;
}

std::vector<fs::path> packs(const fs::path& folder) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".safetensors") out.push_back(entry.path());
  }
  return out;
}

// Episodes of ten frames, each with a task of its own.
void write_many_tasks(const fs::path& root, int episodes) {
  using namespace wam::lerobot_writer;
  constexpr std::size_t kFrames = 10;
  Writer writer(root, wam::test::arm_format());
  for (int episode = 0; episode < episodes; ++episode) {
    Recording recording;
    recording.task = fmt::format("reach for block {}", episode);
    recording.frames = kFrames;
    recording.pictures_THWC.assign(3, std::vector<std::uint8_t>(kFrames * 32 * 64 * 3, 100));
    const std::vector<float> values(kFrames * 3, 0.5F);
    recording.vectors = {values, values};
    writer.add(recording);
  }
  writer.finish();
}

}  // namespace

TEST_CASE("cache text: a run finds all its prompts, and does not load the text encoder") {
  const TinyRuns runs;
  const TinyRuns::Overrides steps{"train.steps=2", "data.validation=1"};
  auto elsewhere = steps;
  elsewhere.emplace_back("data.text_cache=before");

  const auto first = cache_texts(runs, "cached", elsewhere);
  CHECK_THAT(first.out, Contains(kEncoder) && Contains("computing 3 prompts, "));
  const auto second = cache_texts(runs, "cached", elsewhere);
  CHECK_THAT(second.out, !Contains(kEncoder) && Contains("3 prompts are in before/text_"));

  const auto trained = runs.must_train("cached", elsewhere);
  CHECK_THAT(trained.out, !Contains(kEncoder));
  const auto live = runs.must_train("live", steps);
  CHECK_THAT(live.out, Contains(kEncoder));
  CHECK(runs.losses("cached") == runs.losses("live"));
}

TEST_CASE("cache text: two ranks embed a part each, and one finds all of it") {
  if (!wam::test::has_mpirun()) return;
  const TinyRuns runs;
  write_many_tasks(runs.path() / "tasks", 130);
  const TinyRuns::Overrides many{"data.datasets=[{path: tasks, embodiment: tiny}]",
                                 "data.text_cache=together"};

  cache_texts(runs, "run", many, 2);

  CHECK(packs(runs.path() / "together").size() == 2);
  CHECK_THAT(cache_texts(runs, "run", many).out,
             !Contains(kEncoder) && Contains("130 prompts are in"));
}

TEST_CASE("cache text: an unknown part is named with those there are") {
  const TinyRuns runs;
  auto arguments = runs.arguments("cache", "run", {});
  arguments.insert(arguments.end(), {"--what", "texts"});

  const auto done = runs.run(arguments);

  CHECK(done.exit_code == 2);
  CHECK_THAT(done.err, Contains("--what texts: expected one of text") && Contains("Fix: write"));
}
