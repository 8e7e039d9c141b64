#include "data/lerobot/episode_filter.h"

#include <string>
#include <vector>

#include "core/base/errors.h"
#include "data/lerobot/reader.h"
#include "test/support/catch.h"
#include "test/unit/data/lerobot/shared_set.h"
#include "test/unit/data/lerobot/small_set.h"

namespace wam::test {
namespace {

using Numbers = std::vector<std::int64_t>;

// Episodes 0 ... 9 of 10 * (number + 1) frames; those with an even number were a success.
LeRobotMeta ten_episodes() {
  LeRobotMeta meta;
  meta.root = "/sets/ten";
  for (std::int64_t e = 0; e < 10; ++e) {
    LeRobotEpisode episode;
    episode.number = e;
    episode.length = 10 * (e + 1);
    episode.success = e % 2 == 0;
    meta.episodes.push_back(episode);
  }
  return meta;
}

Numbers left_by(const EpisodeFilter& filter) {
  LeRobotMeta meta = ten_episodes();
  apply(filter, meta);
  Numbers out;
  for (const auto& e : meta.episodes) out.push_back(e.number);
  return out;
}

std::string error_of(const EpisodeFilter& filter, LeRobotMeta meta = ten_episodes()) {
  try {
    apply(filter, meta);
  } catch (const ConfigError& error) {
    return std::string("config: ") + error.what();
  } catch (const DataError& error) {
    return std::string("data: ") + error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("episode filter: numbers, ranges, success and lengths, together what all of them leave") {
  CHECK(left_by({}).size() == 10);
  CHECK(left_by({.episodes = {"7", "1:3"}}) == Numbers{1, 2, 7});
  CHECK(left_by({.episodes = {":2", "8:"}}) == Numbers{0, 1, 8, 9});
  CHECK(left_by({.episodes = {"2:5", "3", "4:6"}}) == Numbers{2, 3, 4, 5});
  CHECK(left_by({.only_successful = true}) == Numbers{0, 2, 4, 6, 8});
  CHECK(left_by({.min_length = 80}) == Numbers{7, 8, 9});
  CHECK(left_by({.max_length = 30}) == Numbers{0, 1, 2});
  CHECK(left_by({.min_length = 30, .max_length = 50}) == Numbers{2, 3, 4});
  CHECK(left_by({{"1:9"}, true, 30, 70}) == Numbers{2, 4, 6});
}

TEST_CASE("episode filter: what it leaves out is noted, and nothing without a filter") {
  LeRobotMeta meta = ten_episodes();
  apply({}, meta);
  CHECK(meta.notes.empty());
  apply({{"0:6"}, true, 0, 30}, meta);
  CHECK(meta.notes ==
        std::vector<std::string>{"4 of 10 episodes are left out by episodes: [0:6]",
                                 "3 of 6 episodes are left out by only_successful",
                                 "1 of 3 episodes are left out by lengths of 0 to 30 frames"});
}

TEST_CASE("episode filter: mistakes are named") {
  for (const char* text : {"", ":", "a", "-1", "3:3", "5:2", "1:2:3", "1.5"}) {
    CHECK_THAT(
        error_of({.episodes = {text}}),
        Catch::Contains(fmt::format("config: '{}' is neither", text)) && Catch::Contains("Fix:"));
  }
  CHECK_THAT(error_of({.episodes = {"3", "12:20"}}),
             Catch::Contains("data: LeRobot dataset /sets/ten: episodes: 12:20 names no episode") &&
                 Catch::Contains("from 0 to 9"));
  CHECK_THAT(error_of({.episodes = {"0:2"}, .min_length = 90}),
             Catch::Contains("none of its 10 episodes passes the filter"));
  LeRobotMeta silent = ten_episodes();
  silent.episodes[4].success.reset();
  CHECK_THAT(error_of({.only_successful = true}, silent),
             Catch::Contains("no `success` for episode 4"));
  silent.episodes[6].length.reset();
  CHECK_THAT(error_of({.min_length = 3}, silent), Catch::Contains("no length for episode 6"));
  CHECK(error_of({.episodes = {"0:3"}}, silent) == "no error");
}

TEST_CASE("episode filter: a reader has the episodes that pass, from the list's own words") {
  const SmallSet set;
  set.write("episodes.jsonl",
            "{\"episode_index\": 0, \"tasks\": [], \"length\": 5, \"success\": false}\n"
            "{\"episode_index\": 3, \"tasks\": [], \"length\": 3, \"success\": true}\n");
  const LeRobotReader reader(set.root(), {.only_successful = true});
  REQUIRE(reader.num_episodes() == 1);
  CHECK(reader.episode_number(0) == 3);
  CHECK(reader.read_column(0, "observation.state").size(0) == 3);
  set.edit("episodes.jsonl", "true", "\"yes\"");
  CHECK_THAT(data_error_of([&] { static_cast<void>(LeRobotReader(set.root())); }),
             Catch::Contains("success") && Catch::Contains("true or false"));
}

TEST_CASE("episode filter: success flags of v3.0 are a column of the episode list") {
  const auto numbers_of = [](const SharedSet& set) {
    const LeRobotReader reader(set.root(), {.only_successful = true});
    Numbers out;
    for (std::int64_t e = 0; e < reader.num_episodes(); ++e) {
      out.push_back(reader.episode_number(e));
    }
    return out;
  };
  const auto with = [](std::shared_ptr<arrow::Array> cells) {
    SharedSetForm form;
    form.list_extra = {{"success", std::move(cells)}};
    return form;
  };
  CHECK(numbers_of(SharedSet(with(flags({true, false, true, true, false})))) == Numbers{0, 2, 3});
  CHECK(numbers_of(SharedSet(with(integers({0, 1, 0, 0, 1})))) == Numbers{1, 4});

  // Unknown in one episode: no obstacle to who does not ask, and named to who does.
  const SharedSet partial(with(flags({true, false, std::nullopt, true, true})));
  CHECK(LeRobotReader(partial.root()).num_episodes() == 5);
  CHECK_THAT(data_error_of([&] { numbers_of(partial); }),
             Catch::Contains("no `success` for episode 2") && Catch::Contains("Fix:"));
  CHECK_THAT(data_error_of([&] { numbers_of(SharedSet()); }),
             Catch::Contains("no `success` for episode 0"));
  const SharedSet words(with(strings({"yes", "no", "yes", "yes", "no"})));
  CHECK_THAT(data_error_of([&] { static_cast<void>(LeRobotReader(words.root())); }),
             Catch::Contains("column 'success'") && Catch::Contains("expected true or false"));
}

TEST_CASE("episode filter: rows of v3.0 are found whatever was left out before them") {
  SharedSetForm form;
  form.list_extra = {{"success", flags({false, true, false, false, true})}};
  const SharedSet set(form);
  const LeRobotReader all(set.root());
  const LeRobotReader some(set.root(), {.only_successful = true});
  REQUIRE(some.num_episodes() == 2);
  for (const auto& [episode, among_all] : {std::pair{0, 1}, std::pair{1, 4}}) {
    CHECK(some.episode_number(episode) == among_all);
    CHECK(some.read_column(episode, "observation.state")
              .equal(all.read_column(among_all, "observation.state")));
    const std::vector<std::int64_t> frames = {0, some.episode_length(episode) - 1};
    for (const char* camera : {"observation.images.front", "observation.images.wrist"}) {
      CHECK(some.read_frames(episode, camera, frames)
                .equal(all.read_frames(among_all, camera, frames)));
    }
  }
}

}  // namespace wam::test
