#include "apps/wamtrain/bench/step_lines.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "core/base/errors.h"

namespace wam {

std::vector<StepLine> read_step_lines(const std::filesystem::path& metrics) {
  std::ifstream in(metrics);
  require<DataError>(in.good(), "reading {}: it cannot be opened.", metrics.string());
  std::vector<StepLine> out;
  for (std::string line; std::getline(in, line);) {
    const auto json = nlohmann::json::parse(line);
    const auto seconds = [&](const char* key) { return json.at(key).get<double>(); };
    out.push_back({.times = {.step_s = seconds("step_s"),
                             .forward_backward_s = seconds("forward_backward_s"),
                             .encode_s = seconds("encode_s"),
                             .update_s = seconds("update_s"),
                             .exposed_gather_s = seconds("exposed_gather_s"),
                             .exposed_reduce_s = seconds("exposed_reduce_s"),
                             .data_wait_s = seconds("data_wait_s"),
                             .checkpoint_s = seconds("checkpoint_s"),
                             .other_s = seconds("other_s")},
                   .skipped = json.contains("skipped")});
  }
  return out;
}

ScratchFile::ScratchFile() {
  std::string name = (std::filesystem::temp_directory_path() / "wamtrain_bench.XXXXXX").string();
  const int descriptor = ::mkstemp(name.data());
  require<DeviceError>(descriptor >= 0, "making a scratch file {}: {}.", name,
                       std::strerror(errno));
  ::close(descriptor);
  path_ = name;
}

ScratchFile::~ScratchFile() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

}  // namespace wam
