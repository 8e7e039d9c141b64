#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>

#include "core/base/errors.h"
#include "test/dataset/lerobot/expected_set.h"
#include "test/support/catch.h"

namespace wam::test {
namespace {

at::Tensor all_rows(const LeRobotReader& reader, const std::string& column) {
  std::vector<at::Tensor> parts;
  for (std::int64_t i = 0; i < reader.num_episodes(); ++i) {
    parts.push_back(reader.read_column(i, column));
  }
  return at::cat(parts);
}

// Row `frame` of `column` as the flat tensor that the expected file holds per position.
at::Tensor row_of(const ExpectedSet& set,
                  const std::string& column,
                  const nlohmann::json& position) {
  const std::int64_t idx = set.episode_idx(position.at("episode_index").get<std::int64_t>());
  return set.reader()
      .read_column(idx, column)
      .select(0, position.at("frame_index").get<std::int64_t>());
}

void check_rows(const ExpectedSet& set, const std::string& column, const std::string& stored) {
  const at::Tensor expected = set.stored(stored);
  for (std::size_t p = 0; p < set.positions().size(); ++p) {
    INFO(set.name() << " " << column << " at position " << p);
    const at::Tensor want = expected.select(0, static_cast<std::int64_t>(p)).reshape({-1});
    const at::Tensor found = row_of(set, column, set.positions().at(p));
    CHECK(found.scalar_type() == want.scalar_type());
    CHECK(at::equal(found, want));
  }
}

}  // namespace

TEST_CASE("LeRobot sets: episodes, lengths, rate and tasks are those of the LeRobot library") {
  for (const auto& root : set_folders()) {
    const ExpectedSet set(root);
    const LeRobotReader& reader = set.reader();
    INFO(set.name());
    CHECK(reader.meta().info.fps == set.json().at("fps").get<double>());
    CHECK(reader.meta().info.version == set.json().at("codebase_version").get<std::string>());
    CHECK(reader.num_episodes() == set.json().at("total_episodes").get<std::int64_t>());
    std::vector<std::int64_t> lengths;
    for (std::int64_t i = 0; i < reader.num_episodes(); ++i) {
      lengths.push_back(reader.episode_length(i));
    }
    CHECK(lengths == set.json().at("episode_lengths").get<std::vector<std::int64_t>>());
    std::vector<std::string> tasks;
    for (const auto& [index, text] : reader.meta().tasks) tasks.push_back(text);
    CHECK(tasks == set.json().at("tasks_by_index").get<std::vector<std::string>>());
  }
}

TEST_CASE("LeRobot sets: vectors, times and indices are equal bit for bit") {
  for (const auto& root : set_folders()) {
    const ExpectedSet set(root);
    check_rows(set, set.json().at("state_key").get<std::string>(), "state");
    check_rows(set, set.json().at("action_key").get<std::string>(), "action");
    for (const char* column :
         {"timestamp", "episode_index", "frame_index", "index", "task_index"}) {
      check_rows(set, column, column);
    }
    for (const auto& [key, digest] : set.json().at("sha256_all_rows").items()) {
      const std::string column = key.substr(0, key.find(" ("));
      INFO(set.name() << " all rows of " << column);
      CHECK(sha256(all_rows(set.reader(), column)) == digest.get<std::string>());
    }
  }
}

TEST_CASE("LeRobot sets: language columns and task texts are equal") {
  for (const auto& root : set_folders()) {
    const ExpectedSet set(root);
    const LeRobotReader& reader = set.reader();
    for (const auto& position : set.positions()) {
      const std::int64_t idx = set.episode_idx(position.at("episode_index").get<std::int64_t>());
      const auto frame = position.at("frame_index").get<std::size_t>();
      INFO(set.name() << " episode " << idx << " frame " << frame);
      CHECK(reader.read_language(idx, "task_index").at(frame) ==
            position.at("task").get<std::string>());
      if (!position.contains("language")) continue;
      for (const auto& [column, value] : position.at("language").items()) {
        INFO(column);
        if (value.is_string()) {
          CHECK(reader.is_text_column(idx, column));
          CHECK(reader.read_strings(idx, column).at(frame) == value.get<std::string>());
        } else {
          CHECK_FALSE(reader.is_text_column(idx, column));
          const at::Tensor index_LD = reader.read_column(idx, column);
          CHECK(index_LD.data_ptr<std::int64_t>()[frame] == value.get<std::int64_t>());
        }
      }
    }
  }
}

TEST_CASE("LeRobot sets: the columns behind an embodiment's keys exist in the first table") {
  for (const auto& root : set_folders()) {
    const ExpectedSet set(root);
    const LeRobotMeta& meta = set.reader().meta();
    INFO(set.name());
    REQUIRE(meta.modality.has_value());
    LeRobotMeta bare = meta;
    bare.modality.reset();
    const bool is_droid = meta.embodiment_tag == "oxe_droid";
    const std::vector<std::string> state_keys =
        is_droid ? std::vector<std::string>{"state.joint_position", "state.gripper_position"}
                 : std::vector<std::string>{"state.state"};
    const std::vector<std::string> action_keys =
        is_droid ? std::vector<std::string>{"action.joint_position", "action.gripper_position"}
                 : std::vector<std::string>{"action.actions"};
    const auto state = find_vector_columns(meta, VectorKind::kState, state_keys);
    const auto action = find_vector_columns(meta, VectorKind::kAction, action_keys);
    CHECK((find_vector_columns(bare, VectorKind::kState, state_keys) == state));
    CHECK((find_vector_columns(bare, VectorKind::kAction, action_keys) == action));
    if (is_droid) {
      CHECK((state[0] == ColumnSlice{"observation.state", 7, 14}));
      CHECK((state[1] == ColumnSlice{"observation.state", 6, 7}));
      CHECK((action[0] == ColumnSlice{"action", 14, 21}));
      CHECK((action[1] == ColumnSlice{"action", 12, 13}));
    }
    for (const ColumnSlice& slice : state) set.reader().require_column(0, slice);
    for (const ColumnSlice& slice : action) set.reader().require_column(0, slice);
  }
}

}  // namespace wam::test
