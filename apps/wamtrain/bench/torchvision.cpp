#include "apps/wamtrain/bench/torchvision.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <nlohmann/json.hpp>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace wam {
namespace {

using nlohmann::json;

// A folder that disappears with the object.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "wamtrain_torchvision.XXXXXX").string();
    require<DeviceError>(::mkdtemp(name.data()) != nullptr, "making a scratch folder {}: {}.", name,
                         std::strerror(errno));
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ScratchFolder(ScratchFolder&&) = delete;
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  [[nodiscard]] std::filesystem::path file(const std::string& name) const { return path_ / name; }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

const char* name_of_step(JitterOp op) {
  switch (op) {
    case JitterOp::kBrightness:
      return "brightness";
    case JitterOp::kContrast:
      return "contrast";
    case JitterOp::kSaturation:
      return "saturation";
    case JitterOp::kHue:
      return "hue";
  }
  throw InvariantError("an unknown step of a jitter");
}

json draws_json(const ClipDraws& draws) {
  json steps = json::array();
  for (std::int64_t i = 0; i < draws.steps; ++i) {
    steps.push_back({name_of_step(draws.step[i].op), draws.step[i].factor});
  }
  return {{"top", draws.top}, {"left", draws.left}, {"steps", steps}};
}

json job_json(const std::vector<RawClip>& clips, std::int64_t repeats) {
  const ClipPlan& plan = *clips.front().plan;
  json out{{"views", plan.num_views},
           {"frames", clips.front().frames()},
           {"in_height", plan.in_height},
           {"in_width", plan.in_width},
           {"crop_height", plan.rows.in},
           {"crop_width", plan.columns.in},
           {"view_height", plan.rows.out},
           {"view_width", plan.columns.out},
           {"height", plan.height},
           {"width", plan.width},
           {"warm_ups", 1},
           {"repeats", repeats},
           {"places", json::array()},
           {"draws", json::array()}};
  for (const auto& place : plan.places) {
    out["places"].push_back({{"view", place.view},
                             {"top", place.top},
                             {"left", place.left},
                             {"repeat_rows", place.repeat_rows},
                             {"repeat_columns", place.repeat_columns}});
  }
  for (const auto& clip : clips) out["draws"].push_back(draws_json(clip.draws));
  return out;
}

void write_clip(const std::filesystem::path& path, const RawClip& clip) {
  OutputFile file(path);
  for (const auto& view : clip.view_THWC) file.write(view.const_data_ptr(), view.nbytes());
  file.finish();
}

// Its output goes to ours, for what it may have to say.
void run_script(const std::filesystem::path& script, const std::filesystem::path& folder) {
  const char* set = std::getenv("WAM_PYTHON");
  std::string python = set != nullptr ? set : "python3";
  std::string file = script.string();
  std::string argument = folder.string();
  char* const arguments[] = {python.data(), file.data(), argument.data(), nullptr};
  pid_t child = 0;
  const int refused = ::posix_spawnp(&child, python.c_str(), nullptr, nullptr, arguments, environ);
  require<ConfigError>(refused == 0,
                       "--torchvision: {} cannot be started: {}. Fix: set WAM_PYTHON to a Python "
                       "that has torch.",
                       python, std::strerror(refused));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  require<ConfigError>(
      WIFEXITED(status) && WEXITSTATUS(status) == 0,
      "--torchvision: {} {} failed (its messages stand above). Fix: set WAM_PYTHON "
      "to a Python that has torch and numpy.",
      python, file);
}

void compare(const std::filesystem::path& path, const at::Tensor& image, TorchvisionTimes& out) {
  const std::string theirs = read_file(path);
  require<ConfigError>(theirs.size() == image.nbytes(),
                       "--torchvision: {} has {} bytes, expected {}. Fix: take the script of this "
                       "version.",
                       path.string(), theirs.size(), image.nbytes());
  const auto* ours = image.const_data_ptr<std::uint8_t>();
  std::int64_t differing = 0;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const std::int64_t difference = std::abs(static_cast<std::uint8_t>(theirs[i]) - ours[i]);
    out.worst_level = std::max(out.worst_level, difference);
    differing += difference > 0 ? 1 : 0;
  }
  out.share =
      std::max(out.share, static_cast<double>(differing) / static_cast<double>(theirs.size()));
}

}  // namespace

TorchvisionTimes time_torchvision(const std::filesystem::path& script,
                                  const std::vector<RawClip>& clips,
                                  const std::vector<at::Tensor>& images,
                                  std::int64_t repeats) {
  require<ConfigError>(std::filesystem::is_regular_file(script),
                       "--torchvision: there is no file {}. Fix: give the path of "
                       "scripts/time_torchvision.py.",
                       script.string());
  const ScratchFolder folder;
  write_file_atomically(folder.file("job.json"), job_json(clips, repeats).dump());
  for (std::size_t i = 0; i < clips.size(); ++i) {
    write_clip(folder.file("clip_" + std::to_string(i) + ".bin"), clips[i]);
  }
  run_script(script, folder.path());
  const json result = json::parse(read_file(folder.file("result.json")));
  TorchvisionTimes out;
  out.seconds = result.at("seconds").get<std::vector<double>>();
  out.by = result.at("by").get<std::string>();
  for (std::size_t i = 0; i < clips.size(); ++i) {
    compare(folder.file("image_" + std::to_string(i) + ".bin"), images[i], out);
  }
  return out;
}

}  // namespace wam
