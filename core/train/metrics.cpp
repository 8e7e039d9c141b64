#include "core/train/metrics.h"

#include <cerrno>
#include <cmath>
#include <cstring>

#include <nlohmann/json.hpp>

#include "core/base/errors.h"

namespace wam {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

Json numbers(const std::vector<double>& values) {
  Json out = Json::array();
  for (const double value : values) out.push_back(number(value));
  return out;
}

}  // namespace

MetricsFile::MetricsFile(const std::filesystem::path& path)
    : path_(path), file_(std::fopen(path.c_str(), "a")) {
  require<DeviceError>(file_ != nullptr, "opening {}: {}.", path.string(), std::strerror(errno));
}

MetricsFile::~MetricsFile() {
  std::fclose(file_);
}

void MetricsFile::write(const StepMetrics& m) {
  Json json = {{"step", m.step},
               {"epoch", number(m.epoch)},
               {"loss", number(m.loss)},
               {"video_loss", number(m.video_loss)},
               {"action_loss", number(m.action_loss)},
               {"grad_norm", number(m.grad_norm)},
               {"learning_rate", number(m.learning_rate)},
               {"step_s", number(m.times.step_s)},
               {"forward_backward_s", number(m.times.forward_backward_s)},
               {"encode_s", number(m.times.encode_s)},
               {"update_s", number(m.times.update_s)},
               {"exposed_gather_s", number(m.times.exposed_gather_s)},
               {"exposed_reduce_s", number(m.times.exposed_reduce_s)},
               {"data_wait_s", number(m.times.data_wait_s)},
               {"checkpoint_s", number(m.times.checkpoint_s)},
               {"other_s", number(m.times.other_s)},
               {"samples_per_s", number(m.samples_per_s)},
               {"peak_memory_bytes", m.peak_memory_bytes},
               {"samples_seen", m.samples_seen},
               {"largest_unit", m.largest_unit},
               {"largest_unit_norm", number(m.largest_unit_norm)}};
  if (m.skipped) {
    json["skipped"] = true;
    json["samples"] = m.samples;
  }
  if (m.num_bad_samples > 0) json["bad_samples"] = m.bad_samples;
  write_line(json.dump());
}

void MetricsFile::write(const ValidationMetrics& m) {
  Json body = {{"windows", m.windows},
               {"video_loss", number(m.video_loss)},
               {"action_loss", number(m.action_loss)},
               {"action_error", number(m.action_error)},
               {"mean_action_error", number(m.mean_action_error)},
               {"action_names", m.action_names},
               {"action_error_per_dim", numbers(m.action_error_per_dim)},
               {"action_error_physical", numbers(m.action_error_physical)},
               {"seconds", number(m.seconds)}};
  if (m.shuffled_error) body["shuffled_error"] = number(*m.shuffled_error);
  write_line(Json{{"step", m.step}, {"validation", body}}.dump());
}

void MetricsFile::write_line(const std::string& line) {
  const bool ok = std::fputs((line + "\n").c_str(), file_) >= 0 && std::fflush(file_) == 0;
  require<DeviceError>(ok, "writing {}: {}.", path_.string(), std::strerror(errno));
}

}  // namespace wam
