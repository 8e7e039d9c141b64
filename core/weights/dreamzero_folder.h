#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/weights/weights_writer.h"

namespace wam {

// Prefixes of the parts inside a DreamZero checkpoint.
inline constexpr const char* kDitPrefix = "action_head.model.";
inline constexpr const char* kTextEncoderPrefix = "action_head.text_encoder.";
inline constexpr const char* kImageEncoderPrefix = "action_head.image_encoder.model.";
inline constexpr const char* kVaePrefix = "action_head.vae.model.";

// What DreamZero and RLinf load: config.json, the weights with full names, and experiment_cfg.
struct DreamZeroFolder {
  std::string config_json;
  std::string metadata_json;  // statistics and modalities by embodiment tag
  std::string conf_yaml;      // empty: none (only the official policy server reads it)
  std::vector<TensorSource> tensors;
};

// Writes the folder at once (write_folder_atomically): the same contents give the same bytes.
// Errors: as write_weights and write_folder_atomically.
WrittenWeights write_dreamzero_folder(const std::filesystem::path& out,
                                      const DreamZeroFolder& contents,
                                      const WeightsWriterOptions& options);

// The text of a folder's config.json. Errors: DataError naming the path when it is not there.
std::string read_dreamzero_config(const std::filesystem::path& folder);

}  // namespace wam
