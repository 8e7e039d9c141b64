#include "core/report/run_data.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"

namespace wam {
namespace {

using Json = nlohmann::json;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double number(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "inf") return kInfinity;
  if (value == "-inf") return -kInfinity;
  return kNan;  // "nan", null
}

double number_at(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at == object.end() ? kNan : number(*at);
}

std::vector<double> numbers_at(const Json& object, const char* key) {
  std::vector<double> out;
  if (!object.contains(key)) return out;
  for (const Json& value : object.at(key)) out.push_back(number(value));
  return out;
}

std::vector<std::string> names_at(const Json& object, const char* key) {
  if (!object.contains(key)) return {};
  return object.at(key).get<std::vector<std::string>>();
}

StepRow step_row(const Json& line) {
  StepRow out;
  out.step = line.at("step").get<std::int64_t>();
  out.skipped = line.value("skipped", false);
  const std::pair<const char*, double*> fields[] = {
      {"epoch", &out.epoch},
      {"loss", &out.loss},
      {"video_loss", &out.video_loss},
      {"action_loss", &out.action_loss},
      {"grad_norm", &out.grad_norm},
      {"learning_rate", &out.learning_rate},
      {"step_s", &out.step_s},
      {"data_wait_s", &out.data_wait_s},
      {"checkpoint_s", &out.checkpoint_s},
      {"samples_per_s", &out.samples_per_s},
      {"samples_seen", &out.samples_seen},
      {"peak_memory_bytes", &out.peak_memory_bytes},
  };
  for (const auto& [key, value] : fields) *value = number_at(line, key);
  return out;
}

ValidationRow validation_row(const Json& line) {
  const Json& body = line.at("validation");
  ValidationRow out;
  out.step = line.at("step").get<std::int64_t>();
  out.windows = number_at(body, "windows");
  out.video_loss = number_at(body, "video_loss");
  out.action_loss = number_at(body, "action_loss");
  out.action_error = number_at(body, "action_error");
  out.mean_action_error = number_at(body, "mean_action_error");
  out.shuffled_error = number_at(body, "shuffled_error");
  out.action_names = names_at(body, "action_names");
  out.action_error_per_dim = numbers_at(body, "action_error_per_dim");
  out.action_error_physical = numbers_at(body, "action_error_physical");
  return out;
}

// A run that went back to a checkpoint wrote some steps again.
template <class Row>
void append(std::vector<Row>& rows, Row row) {
  while (!rows.empty() && rows.back().step >= row.step) rows.pop_back();
  rows.push_back(std::move(row));
}

void read_metrics(const std::filesystem::path& path, RunData& out) {
  const std::string text = read_file(path);
  std::size_t number_of_line = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t newline = text.find('\n', at);
    const bool unfinished = newline == std::string::npos;
    const std::string line = text.substr(at, unfinished ? newline : newline - at);
    at = unfinished ? text.size() : newline + 1;
    ++number_of_line;
    if (line.empty()) continue;
    try {
      const Json json = Json::parse(line);
      if (json.contains("validation")) {
        append(out.validations, validation_row(json));
      } else {
        append(out.steps, step_row(json));
      }
    } catch (const Json::exception& error) {
      require<DataError>(
          unfinished,
          "reading {}: line {} is not an entry of a run's metrics ({}).\nFix: remove "
          "the line.",
          path.string(), number_of_line, error.what());
    }
  }
  require<DataError>(!out.steps.empty(),
                     "reading {}: it holds no finished training step.\nFix: let the run do a step "
                     "first.",
                     path.string());
}

std::vector<std::vector<double>> matrix(const Json& rows) {
  std::vector<std::vector<double>> out;
  for (const Json& row : rows) {
    out.emplace_back();
    for (const Json& value : row) out.back().push_back(number(value));
  }
  return out;
}

bool same_shape(const ActionWindow& window) {
  if (window.truth.size() != window.prediction.size() || window.truth.empty()) return false;
  const std::size_t width = window.truth.front().size();
  const auto has_width = [width](const auto& row) { return row.size() == width; };
  return width > 0 && std::all_of(window.truth.begin(), window.truth.end(), has_width) &&
         std::all_of(window.prediction.begin(), window.prediction.end(), has_width);
}

ActionWindow window_of(const Json& json) {
  ActionWindow out;
  const Json& id = json.at("id");
  out.dataset = id.at("dataset").get<std::int64_t>();
  out.episode = id.at("episode").get<std::int64_t>();
  out.frame = id.at("frame").get<std::int64_t>();
  out.prompt = json.value("prompt", "");
  out.names = names_at(json, "names");
  out.truth = matrix(json.at("truth"));
  out.prediction = matrix(json.at("prediction"));
  return out;
}

// Steps are written with eight digits, so names sort like numbers.
std::filesystem::path newest_validation(const std::filesystem::path& folder) {
  std::filesystem::path newest;
  if (!std::filesystem::is_directory(folder)) return newest;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::filesystem::path& path = entry.path();
    const bool ours = path.extension() == ".json" && path.filename().string().starts_with("step_");
    if (ours && path.filename() > newest.filename()) newest = path;
  }
  return newest;
}

}  // namespace

std::vector<ActionWindow> read_windows(const std::filesystem::path& file) {
  std::vector<ActionWindow> out;
  try {
    const Json json = Json::parse(read_file(file));
    for (const Json& window : json.at("windows")) out.push_back(window_of(window));
  } catch (const Json::exception& error) {
    throw DataError(fmt::format(
        "reading {}: it is not a run's record of validation windows ({}).\nFix: remove the file.",
        file.string(), error.what()));
  }
  for (const ActionWindow& window : out) {
    require<DataError>(
        same_shape(window),
        "reading {}: in episode {} the true and the predicted actions are not of one "
        "shape.\nFix: remove the file.",
        file.string(), window.episode);
  }
  return out;
}

RunData read_run(const std::filesystem::path& run_folder) {
  for (const char* file : {"metrics.jsonl", "recipe.yaml"}) {
    require<DataError>(
        std::filesystem::exists(run_folder / file),
        "reporting on the run {}: {} is not there.\nFix: give the folder of a run, as "
        "run.dir in its recipe.",
        run_folder.string(), file);
  }
  RunData out;
  out.name = std::filesystem::weakly_canonical(run_folder).filename().string();
  read_metrics(run_folder / "metrics.jsonl", out);
  out.recipe = read_file(run_folder / "recipe.yaml");
  if (const auto newest = newest_validation(run_folder / "validation"); !newest.empty()) {
    out.windows = read_windows(newest);
    out.window_step = std::atoll(newest.stem().string().substr(5).c_str());
  }
  return out;
}

}  // namespace wam
