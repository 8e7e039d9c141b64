#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace wam {

// What the files under meta/ of a LeRobot dataset say. Read once, then plain data.
//
// Source: LeRobot (huggingface/lerobot @ v0.3.3, common/datasets); modality.json and
// embodiment.json
//         as in GR00T and DreamZero @ ab790c1.

// A part of a vector column that `names` of info.json describes: "gripper_position" of width 1.
struct LeRobotVectorPart {
  std::string name;
  std::int64_t width = 1;
};

struct LeRobotFeature {
  std::string name;
  std::string dtype;  // a numpy name ("float32", "int64", "bool" ...), "image", "video", "string"
  std::vector<std::int64_t> shape;
  // The parts in vector order; empty where `names` is null or does not say. Widths need not add up
  // to the shape: find_vector_columns checks.
  std::vector<LeRobotVectorPart> parts;
  // Cameras only, from the names "height" and "width" (channel-first sets exist); 0 when unknown.
  std::int64_t height = 0;
  std::int64_t width = 0;

  bool is_depth = false;  // a depth map: not read

  [[nodiscard]] bool is_camera() const {
    return (dtype == "video" || dtype == "image") && !is_depth;
  }
  // Product of the shape: the width of a vector column, 1 for a scalar.
  [[nodiscard]] std::int64_t num_values() const;
};

struct LeRobotInfo {
  std::string version;  // "v2.0", "v2.1", "v3.0"
  std::string robot_type;
  double fps = 0;
  std::int64_t total_frames = 0;  // what info.json claims; lengths of episodes are what counts
  std::int64_t chunks_size = 1000;
  std::string data_path;
  std::string video_path;                // empty where null; may name files that do not exist
  std::vector<LeRobotFeature> features;  // in the order of info.json
  std::vector<std::int64_t> discarded_episodes;
  // `splits.train`: places [first, second) in the sorted episode list. Absent: all.
  std::optional<std::pair<std::int64_t, std::int64_t>> training_episodes;

  [[nodiscard]] bool is_v3() const { return version == "v3.0"; }
  // Null when there is none.
  [[nodiscard]] const LeRobotFeature* feature(const std::string& name) const;
};

// Files that many episodes share are numbered within chunks (v3.0).
struct LeRobotFileNumber {
  std::int64_t chunk = 0;
  std::int64_t file = 0;
  auto operator<=>(const LeRobotFileNumber&) const = default;
};

// The part of a video file that is an episode's.
struct LeRobotVideoPlace {
  LeRobotFileNumber file;
  // Seconds from the file's begin. A running sum of the writer's, which drifts away from the
  // frames.
  double from_s = 0;
  std::int64_t first_frame = 0;  // frames of the episodes before it in the file
  std::int64_t file_frames = 0;  // frames of all episodes in the file; 0: the list has no place
};

// One line of the episode list.
struct LeRobotEpisode {
  std::int64_t number = 0;             // episode_index of the dataset; numbers may have gaps
  std::optional<std::int64_t> length;  // frames; absent in some converted sets
  std::optional<bool> success;         // whether the task was done; few sets say
  // v3.0 only:
  std::int64_t first_index = 0;           // `index` of its first row
  LeRobotFileNumber table;                // as the list says; writers are known to be one file off
  std::vector<LeRobotVideoPlace> videos;  // in the order of LeRobotMeta::videos
};

// An entry of meta/modality.json. Fields that the file leaves out stay empty: their defaults depend
// on the kind (columns.h).
struct LeRobotModalityEntry {
  std::string name;  // "joint_position", without "state."
  std::optional<std::string> original_key;
  std::optional<std::int64_t> start;
  std::optional<std::int64_t> end;
  std::string rotation_type;  // empty for null
  bool absolute = true;
  std::string dtype = "float64";
};

struct LeRobotModality {  // each in file order
  std::vector<LeRobotModalityEntry> state;
  std::vector<LeRobotModalityEntry> action;
  std::vector<LeRobotModalityEntry> video;
  std::vector<LeRobotModalityEntry> annotation;
};

struct LeRobotMeta {
  std::filesystem::path root;
  LeRobotInfo info;
  std::vector<std::string> videos;  // v3.0: features of dtype video, in the order of info.json
  // Ascending numbers, not empty; without discarded ones and those outside of splits.train.
  std::vector<LeRobotEpisode> episodes;
  std::int64_t num_listed = 0;                // of the episode list, used or not
  std::map<std::int64_t, std::string> tasks;  // task_index -> text
  std::optional<LeRobotModality> modality;    // meta/modality.json, where present
  std::string embodiment_tag;                 // meta/embodiment.json; empty where absent
  // meta/step_filter.jsonl: episode number -> frames, ascending, at which no sample starts.
  std::map<std::int64_t, std::vector<std::int64_t>> excluded_starts;
  // What of the dataset is not used, for the log: a sentence each.
  std::vector<std::string> notes;

  // The dataset's folder name, for messages.
  [[nodiscard]] std::string name() const;
};

// Reads meta/ of the dataset in `root`; opens no table and no video.
// Errors: DataError (folder or file missing, malformed, a layout that is not built, no episode).
LeRobotMeta read_lerobot_meta(const std::filesystem::path& root);

// info.json and the files of the episode and task lists, in a fixed order.
std::vector<std::filesystem::path> list_files(const LeRobotMeta& meta);

}  // namespace wam
