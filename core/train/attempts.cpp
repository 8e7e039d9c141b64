#include "core/train/attempts.h"

#include <array>
#include <chrono>
#include <ctime>
#include <fstream>
#include <system_error>

#include <nlohmann/json.hpp>

#include "core/base/errors.h"
#include "core/base/host_name.h"
#include "core/io/atomic_file.h"
#include "core/train/run_folder.h"

namespace wam {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFile = "attempts.json";
constexpr std::size_t kShownLines = 5;
constexpr std::size_t kShownCharacters = 500;  // of an error or a line

std::string now_text() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text.data();
}

// Texts come from anywhere: what is no UTF-8 is replaced.
std::string as_text(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json to_json(const Attempt& attempt) {
  Json json{{"started", attempt.started}, {"host", attempt.host}};
  if (attempt.reached) json["reached"] = *attempt.reached;
  json["end"] = attempt.end.empty() ? Json() : Json(attempt.end);
  return json;
}

Attempt attempt_of(const Json& json) {
  Attempt attempt;
  json.at("started").get_to(attempt.started);
  json.at("host").get_to(attempt.host);
  if (json.contains("reached")) attempt.reached = json["reached"].get<std::int64_t>();
  if (!json.at("end").is_null()) json["end"].get_to(attempt.end);
  return attempt;
}

std::string in_words(const Attempt& attempt) {
  const std::string came =
      attempt.reached ? fmt::format("came to step {}", *attempt.reached) : "came to no step";
  const std::string end = attempt.end.empty() ? "unknown end (killed, or the machine went down)"
                                              : "ended by: " + attempt.end;
  return fmt::format("{}, on {}: {}, {}", attempt.started, attempt.host, came, end);
}

}  // namespace

AttemptRecord::AttemptRecord(const std::filesystem::path& run_folder)
    : folder_(run_folder), log_tail_(last_lines(run_folder / "log.txt", kShownLines)) {
  read();
}

void AttemptRecord::read() {
  std::error_code ignored;
  if (!std::filesystem::exists(folder_ / kFile, ignored)) return;
  try {
    const Json json = Json::parse(read_file(folder_ / kFile));
    json.at("step").get_to(step_);
    json.at("recipe_hash").get_to(recipe_hash_);
    for (const Json& attempt : json.at("attempts")) attempts_.push_back(attempt_of(attempt));
  } catch (const nlohmann::json::exception&) {
    attempts_.clear();
  } catch (const DataError&) {
    attempts_.clear();
  }
}

void AttemptRecord::write() const {
  Json json{{"step", step_}, {"recipe_hash", recipe_hash_}, {"attempts", Json::array()}};
  for (const Attempt& attempt : attempts_) json["attempts"].push_back(to_json(attempt));
  write_file_atomically(folder_ / kFile, as_text(json));
}

std::size_t AttemptRecord::begin(std::int64_t step,
                                 const std::string& recipe_hash,
                                 std::int64_t max_crashes) {
  if (step != step_ || recipe_hash != recipe_hash_) attempts_.clear();
  step_ = step;
  recipe_hash_ = recipe_hash;
  if (!attempts_.empty()) attempts_.back().reached = last_step(folder_ / "metrics.jsonl");
  if (max_crashes > 0 && attempts_.size() >= static_cast<std::size_t>(max_crashes)) {
    throw Error(summary());
  }
  attempts_.push_back({.started = now_text(),
                       .host = host_name().value_or("an unknown host"),
                       .reached = {},
                       .end = {}});
  write();
  begun_ = true;
  return attempts_.size() - 1;
}

void AttemptRecord::note_error(const std::string& what) noexcept {
  if (!begun_) return;
  try {
    attempts_.back().end = what.substr(0, kShownCharacters);
    write();
  } catch (const std::exception&) {
    // A full disk, most likely: the end stays unknown.
  }
}

void AttemptRecord::clear() const {
  std::error_code ignored;
  std::filesystem::remove(folder_ / kFile, ignored);
}

std::string AttemptRecord::summary() const {
  std::string text = fmt::format(
      "the run crashed {} times in a row after starting from step {}, and is not started again:",
      attempts_.size(), step_);
  for (const Attempt& attempt : attempts_) text += "\n  " + in_words(attempt);
  if (!log_tail_.empty()) {
    text += fmt::format("\nThe last lines of {}:", (folder_ / "log.txt").string());
    for (const std::string& line : log_tail_) text += "\n  " + line.substr(0, kShownCharacters);
  }
  return text +
         fmt::format(
             "\nFix: mend what ended it. Any change of the recipe starts it again, and so does "
             "--set run.max_crashes=0, or removing {}.",
             (folder_ / kFile).string());
}

}  // namespace wam
