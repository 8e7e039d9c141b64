#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/check/fault.h"
#include "data/check/motion.h"
#include "data/lerobot/reader.h"

namespace wam {

// What decoding all pictures of a camera in an episode showed.
struct CameraLook {
  std::string camera;
  std::string file;
  std::optional<Fault> fault;  // the first picture that does not decode, or has another size
  Motion motion;               // of the pictures before it
};

// `size`: of the dataset's pictures. Holds some tens of MiB. Threads: any.
CameraLook look_at_camera(const LeRobotReader& reader,
                          std::int64_t episode_idx,
                          const std::string& camera,
                          PictureSize size);

// Faults of an episode by its cameras: those of decoding, a stretch of `still_frames` or more in
// which no camera's picture changes, cameras that stand still while another one's move, or show one
// colour.
std::vector<Fault> check_pictures(const std::vector<CameraLook>& cameras,
                                  std::int64_t still_frames);

}  // namespace wam
