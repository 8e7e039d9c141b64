#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "data/lerobot_writer/feature_statistics.h"
#include "data/lerobot_writer/table_writer.h"
#include "data/lerobot_writer/writer.h"

namespace wam::lerobot_writer {

// Statistics of one feature over one episode.
struct NamedStatistics {
  std::string feature;
  FeatureStatistics values;
  bool is_picture = false;
};

// Where a dataset's content goes: what differs between the versions of the layout. Episodes are
// added one after the other: its videos, its rows, its end.
// Errors: DeviceError when a file cannot be written.
class DatasetFiles {
 public:
  DatasetFiles() = default;
  DatasetFiles(const DatasetFiles&) = delete;
  DatasetFiles& operator=(const DatasetFiles&) = delete;
  DatasetFiles(DatasetFiles&&) = delete;
  DatasetFiles& operator=(DatasetFiles&&) = delete;
  virtual ~DatasetFiles() = default;

  virtual void add_video(std::size_t camera, const std::vector<std::uint8_t>& pictures_THWC) = 0;
  virtual void add_rows(const std::vector<TableColumn>& columns) = 0;
  virtual void end_episode(const Recording& recording,
                           const std::vector<NamedStatistics>& statistics) = 0;
  // The files under meta/. Returns info.json from `version` up to `features`.
  virtual nlohmann::ordered_json finish(const std::vector<std::string>& tasks) = 0;
};

// v2.1: files of their own for every episode. v3.0: many episodes a file.
std::unique_ptr<DatasetFiles> make_episode_files(std::filesystem::path root,
                                                 const Format& format,
                                                 const VideoEncoder& encoder);
std::unique_ptr<DatasetFiles> make_shared_files(std::filesystem::path root,
                                                const Format& format,
                                                const VideoEncoder& encoder);

// As LeRobot keeps them: pictures as (3, 1, 1).
nlohmann::ordered_json to_json(const NamedStatistics& statistics);
// Adds the frames of one episode.
void add_pictures(VideoFile& video,
                  const std::vector<std::uint8_t>& pictures_THWC,
                  PictureSize size);

}  // namespace wam::lerobot_writer
