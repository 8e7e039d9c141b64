#include "core/weights/dreamzero_folder.h"

#include "core/io/atomic_file.h"
#include "core/io/disk.h"

namespace wam {

WrittenWeights write_dreamzero_folder(const std::filesystem::path& out,
                                      const DreamZeroFolder& contents,
                                      const WeightsWriterOptions& options) {
  WrittenWeights written;
  write_folder_atomically(out, [&](const std::filesystem::path& folder) {
    make_folders(folder / "experiment_cfg");
    write_file_atomically(folder / "config.json", contents.config_json);
    write_file_atomically(folder / "experiment_cfg" / "metadata.json", contents.metadata_json);
    if (!contents.conf_yaml.empty()) {
      write_file_atomically(folder / "experiment_cfg" / "conf.yaml", contents.conf_yaml);
    }
    written = write_weights(folder, contents.tensors, options);
  });
  return written;
}

std::string read_dreamzero_config(const std::filesystem::path& folder) {
  return read_file(folder / "config.json");
}

}  // namespace wam
