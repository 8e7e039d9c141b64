#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/names.h"

namespace wam {

// How one key's values are brought into the model's range (data/normalise).
enum class Normalisation { kQ99, kMinMax, kMeanStd };
template <>
struct EnumNames<Normalisation> {
  static constexpr std::array<std::pair<Normalisation, std::string_view>, 3> table{
      {{Normalisation::kQ99, "q99"},
       {Normalisation::kMinMax, "min_max"},
       {Normalisation::kMeanStd, "mean_std"}}};
};

// Which of several instructions a sample gets: any of those that were given, or the first.
enum class LanguageChoice { kUniform, kFirst };
template <>
struct EnumNames<LanguageChoice> {
  static constexpr std::array<std::pair<LanguageChoice, std::string_view>, 2> table{
      {{LanguageChoice::kUniform, "uniform"}, {LanguageChoice::kFirst, "first"}}};
};

// Half widths of the factors' ranges around 1 (hue: around 0, in turns). 0 switches one off.
struct JitterStrength {
  double brightness = 0;
  double contrast = 0;
  double saturation = 0;
  double hue = 0;
};

// Where a view goes on the canvas, in units of one view. A span above 1 repeats every pixel.
struct Placement {
  std::int64_t view = 0;
  std::int64_t row = 0;
  std::int64_t col = 0;
  std::int64_t row_span = 1;
  std::int64_t col_span = 1;
};

// Says where a key's values are, against what the dataset itself says.
struct ColumnOverride {
  std::string column;
  std::optional<std::int64_t> start;  // state and action only; absent: the whole column
  std::optional<std::int64_t> end;
};

// A robot and its recording habits, as data: one YAML file each.
// Keys are short names; "state.x" and "action.x" where both kinds meet in one map.
struct Embodiment {
  std::string tag;      // its entry in metadata.json
  std::int64_t id = 0;  // projector index of the reference's checkpoints; no effect on training
  std::vector<std::string> views;
  std::vector<std::string> state_keys;  // in the order in which they are joined
  std::vector<std::string> action_keys;
  std::vector<std::string> language_keys;
  LanguageChoice language_choice = LanguageChoice::kFirst;
  double crop_scale = 1;  // side of the random crop over side of the picture
  JitterStrength jitter;
  std::int64_t canvas_rows = 1;  // in views
  std::int64_t canvas_cols = 1;
  std::vector<Placement> placements;
  std::string prompt;                                  // text around one or more "{instruction}"
  std::map<std::string, Normalisation> normalisation;  // of every state.* and action.*
  std::vector<std::string> relative_action_keys;  // action minus the state at the block's anchor
  std::int64_t action_horizon = 0;                // action rows per block (H)
  std::int64_t macro_stride = 0;                  // frames between two anchors (S)
  std::vector<std::int64_t> video_offsets;        // frames of a block, from its anchor (O)
  bool uneven_frames = false;  // O and S that do not give evenly spaced clips are meant
  std::map<std::string, ColumnOverride> column_map;  // video.*, state.*, action.*, annotation.*

  [[nodiscard]] bool is_relative(const std::string& action_key) const;
};

// Reads and checks one record. Errors: ConfigError with every problem, each with file and line,
// and the nearest valid key for an unknown one.
Embodiment read_embodiment(const std::filesystem::path& file);

// `name` is a record of `folder` (NAME.yaml), or the path of a YAML file (it has a '/' or ends in
// ".yaml" or ".yml"). Errors: ConfigError with the nearest name.
Embodiment find_embodiment(const std::string& name, const std::filesystem::path& folder);

// Every field in one line, the same for the same record: for fingerprints.
std::string describe(const Embodiment& embodiment);

// The records of a folder, sorted.
std::vector<std::string> embodiment_names(const std::filesystem::path& folder);

}  // namespace wam
