#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "parallel/launch/launch_env.h"

namespace wam {

// Where rank 0 waits for the others.
struct MeetingPoint {
  int port = 0;
  std::string token;  // rank 0's store holds it: tells that store from another one at this port
  std::vector<std::string> addresses;  // of rank 0's host
};

// RUN_DIR/.rendezvous_JOB_ATTEMPT: another job or attempt looks at another file.
std::filesystem::path meeting_file(const std::filesystem::path& run_dir, const LaunchEnv& env);

// Readers see the whole file or none. Errors: DeviceError.
void publish(const std::filesystem::path& file, const MeetingPoint& point);

// Nothing when the file is not there or holds something else.
std::optional<MeetingPoint> find_meeting_point(const std::filesystem::path& file);

}  // namespace wam
