#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/lerobot/json_file.h"
#include "data/lerobot/meta.h"

namespace wam {

// Parts of read_lerobot_meta that have a file of their own.

// `features` of info.json. Errors: DataError starting with `where`.
std::vector<LeRobotFeature> read_features(const Json& features, const std::string& where);

// meta/modality.json; nothing when the file is absent.
std::optional<LeRobotModality> read_modality(const std::filesystem::path& root);

}  // namespace wam
