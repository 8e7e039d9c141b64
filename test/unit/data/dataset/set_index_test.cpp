#include "data/dataset/set_index.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "core/io/atomic_file.h"
#include "data/dataset/start_frames.h"
#include "test/support/catch.h"
#include "test/unit/data/dataset/arm_set.h"

namespace wam::test {
namespace {

// Facts through an index in `folder`, and what was said and done on the way.
struct Opened {
  SetFacts facts;
  std::vector<std::string> notes;
  std::int64_t episodes_read = 0;
};

Opened open(const std::filesystem::path& set,
            const std::filesystem::path& folder,
            bool keep = true) {
  const LeRobotReader reader(set);
  const Binding binding =
      bind(reader,
           find_embodiment("tiny", std::filesystem::path(WAM_SOURCE_DIR) / "configs/embodiment"));
  Opened out;
  SetIndexOptions options{.folder = folder, .keep = keep};
  options.on_progress = [&](std::int64_t done, std::int64_t total) {
    CHECK(total == 4);
    out.episodes_read = done;
  };
  options.on_note = [&](const std::string& line) { out.notes.push_back(line); };
  out.facts = indexed_facts(reader, binding, 2, options);
  return out;
}

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) out.push_back(entry.path());
  return out;
}

}  // namespace

TEST_CASE("an index gives what the tables say, without reading them") {
  const TempFolder folder;
  const auto set = folder.path() / "set";
  const auto index = folder.path() / "cache" / "index";
  write_arm_set(set);
  const Opened first = open(set, index);
  CHECK(first.episodes_read == 4);
  CHECK(first.notes.empty());
  REQUIRE(files_in(index).size() == 1);
  const Opened again = open(set, index);
  CHECK(again.episodes_read == 0);
  CHECK(again.notes.empty());
  CHECK((again.facts == first.facts));
  CHECK((again.facts == open(set, {}).facts));
  CHECK(again.facts.episodes[1].length == 50);
  CHECK(again.facts.texts.at(2) == "Too short");
}

TEST_CASE("an index that is out of date or damaged is built anew, and said so") {
  const TempFolder folder;
  const auto set = folder.path() / "set";
  const auto index = folder.path() / "index";
  write_arm_set(set);
  const SetFacts facts = open(set, index).facts;
  const auto file = files_in(index).at(0);
  SECTION("other metadata") {
    const auto tasks = set / "meta/tasks.jsonl";
    std::string text = read_file(tasks);
    text.replace(text.find("red"), 3, "big");
    write_file_atomically(tasks, text);
    const Opened again = open(set, index);
    CHECK(again.episodes_read == 4);
    CHECK(again.facts.texts.at(0) == "Reach the big block");
    REQUIRE(again.notes.size() == 1);
    CHECK_THAT(again.notes[0], Catch::Contains("the dataset has changed since"));
  }
  SECTION("another table") {
    const auto table = std::filesystem::path("data/chunk-000/episode_000002.parquet");
    write_arm_set(folder.path() / "other", {.action_key = "a_longer_name_for_the_action"});
    REQUIRE(std::filesystem::file_size(folder.path() / "other" / table) !=
            std::filesystem::file_size(set / table));
    std::filesystem::copy_file(folder.path() / "other" / table, set / table,
                               std::filesystem::copy_options::overwrite_existing);
    CHECK(open(set, index).episodes_read == 4);
  }
  SECTION("a table that is gone") {
    const auto table = set / "data/chunk-000/episode_000002.parquet";
    std::filesystem::rename(table, folder.path() / "kept");
    CHECK_THROWS_WITH(open(set, index), Catch::Contains(table.string() + ": no such file"));
    std::filesystem::rename(folder.path() / "kept", table);
  }
  SECTION("cut off anywhere, or with a changed byte") {
    const std::string whole = read_file(file);
    for (const std::size_t at :
         {std::size_t{0}, std::size_t{5}, whole.size() / 2, whole.size() - 1}) {
      INFO(at);
      std::string changed = whole;
      changed[std::min(at, whole.size() - 1)] ^= 1;
      for (const std::string& bad : {whole.substr(0, at), changed}) {
        write_file_atomically(file, bad);
        const Opened again = open(set, index);
        CHECK(again.episodes_read == 4);
        CHECK((again.facts == facts));
        REQUIRE(again.notes.size() == 1);
        CHECK_THAT(again.notes[0], Catch::Contains("is damaged or of another version"));
      }
    }
  }
  CHECK(open(set, index).episodes_read == 0);
  CHECK(files_in(index).size() == 1);
}

TEST_CASE("a folder that takes no index costs the index alone, and plans write none") {
  const TempFolder folder;
  const auto set = folder.path() / "set";
  write_arm_set(set);
  const auto file = folder.path() / "file";
  write_file_atomically(file, "not a folder");
  const Opened opened = open(set, file / "index");
  CHECK(opened.facts.episodes.size() == 4);
  REQUIRE(opened.notes.size() == 1);
  CHECK_THAT(opened.notes[0],
             Catch::Contains("cannot be kept, and the next start reads all tables"));
  CHECK(open(set, folder.path() / "none", false).notes.empty());
  CHECK_FALSE(std::filesystem::exists(folder.path() / "none"));
}

TEST_CASE("processes and threads that build an index at once leave a whole one") {
  const TempFolder folder;
  const auto set = folder.path() / "set";
  const auto index = folder.path() / "index";
  write_arm_set(set);
  const DatasetMember member = arm_member(set);
  const SetFacts facts = read_facts(*member.reader, member.binding, 1);
  std::vector<std::thread> pool;
  std::vector<char> same(8, 0);
  for (std::size_t t = 0; t < same.size(); ++t) {
    pool.emplace_back([&, t] {
      same[t] = indexed_facts(*member.reader, member.binding, 1, {.folder = index}) == facts;
    });
  }
  for (auto& thread : pool) thread.join();
  CHECK(std::count(same.begin(), same.end(), 1) == 8);
  CHECK(files_in(index).size() == 1);
  CHECK(open(set, index).episodes_read == 0);
}

TEST_CASE("start frames are the frames that they were made of") {
  const std::vector<std::int64_t> frames = {0, 1, 2, 7, 9, 10};
  const StartFrames starts(frames);
  CHECK(starts.size() == 6);
  CHECK(starts.values() == frames);
  for (std::size_t n = 0; n < frames.size(); ++n) CHECK(starts.at(n) == frames[n]);
  for (std::int64_t f = -1; f < 12; ++f) {
    CHECK(starts.contains(f) == (std::find(frames.begin(), frames.end(), f) != frames.end()));
  }
  CHECK(StartFrames().empty());
  CHECK(StartFrames().size() == 0);
}

}  // namespace wam::test
