#include "parallel/launch/meeting_file.h"

#include <algorithm>
#include <cctype>
#include <fstream>

#include <fmt/core.h>

#include "core/io/atomic_file.h"

namespace wam {

std::filesystem::path meeting_file(const std::filesystem::path& run_dir, const LaunchEnv& env) {
  std::string job = env.job_id;
  std::replace_if(
      job.begin(), job.end(),
      [](unsigned char c) { return std::isalnum(c) == 0 && c != '.' && c != '-'; }, '_');
  return run_dir / fmt::format(".rendezvous_{}_{}", job, env.attempt);
}

void publish(const std::filesystem::path& file, const MeetingPoint& point) {
  std::filesystem::create_directories(file.parent_path());
  write_file_atomically(
      file, fmt::format("{}\n{}\n{}\n", point.port, point.token, join(point.addresses, "\n")));
}

std::optional<MeetingPoint> find_meeting_point(const std::filesystem::path& file) {
  std::ifstream in(file);
  MeetingPoint point;
  if (!(in >> point.port >> point.token)) return std::nullopt;
  for (std::string address; in >> address;) point.addresses.push_back(address);
  return point;
}

}  // namespace wam
