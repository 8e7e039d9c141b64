#include <filesystem>
#include <string>

#include "data/dataset/window_dataset.h"
#include "test/support/catch.h"
#include "test/unit/data/dataset/arm_set.h"

namespace wam::test {
namespace {

using std::filesystem::perms;

std::string long_task() {
  std::string text = "Reach the “green” block — то же самое, 请拿起红色的积木, café; ";
  while (text.size() < 2000) text += "and then wait ";
  return text + "end";
}

}  // namespace

TEST_CASE("tasks of any script and of 2,000 characters reach the prompts, in both layouts") {
  for (const auto version : {lerobot_writer::Version::k21, lerobot_writer::Version::k30}) {
    const TempFolder folder;
    write_arm_set(folder.path(),
                  {.episodes = {{40, "plain"}, {41, long_task()}}, .version = version});
    const auto splits = open_window_datasets(arm_options(arm_member(folder.path())));
    const auto prompts = splits.training->prompts();
    REQUIRE(prompts.size() == 2);
    const std::string& text = prompts[0].size() > prompts[1].size() ? prompts[0] : prompts[1];
    CHECK_THAT(text, Catch::Contains("请拿起红色的积木") && Catch::Contains("то же самое") &&
                         Catch::Contains("and then wait end"));
  }
}

TEST_CASE("a dataset may be symlinked, and its folders read-only") {
  const TempFolder folder;
  const auto set = folder.path() / "set";
  write_arm_set(set, {.version = lerobot_writer::Version::k30});
  // As a cache of downloads keeps it: files elsewhere, linked one by one.
  const auto blobs = folder.path() / "blobs";
  std::filesystem::create_directories(blobs);
  std::int64_t number = 0;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(set)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  for (const auto& file : files) {
    const auto blob = blobs / std::to_string(number++);
    std::filesystem::rename(file, blob);
    std::filesystem::create_symlink(blob, file);
  }
  std::filesystem::create_directory_symlink(set, folder.path() / "link");
  const auto writable = std::filesystem::status(set).permissions();
  for (const char* part : {"", "meta", "data"}) {
    std::filesystem::permissions(set / part, perms::owner_read | perms::owner_exec);
  }

  auto options = arm_options(arm_member(folder.path() / "link"));
  options.index.folder = folder.path() / "index";
  const auto splits = open_window_datasets(options);

  CHECK(splits.training->size() > 0);
  CHECK_NOTHROW(splits.training->load(0, 0, Transforms::kTraining));
  CHECK(std::filesystem::exists(options.index.folder));
  for (const char* part : {"", "meta", "data"}) std::filesystem::permissions(set / part, writable);
}

}  // namespace wam::test
