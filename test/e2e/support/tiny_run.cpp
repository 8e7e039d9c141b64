#include "test/e2e/support/tiny_run.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "test/support/catch.h"

namespace wam::test {

TinyRuns::TinyRuns(Size size, int episodes) : size_(size) {
  write_dataset("data", episodes, 0);
}

void TinyRuns::write_dataset(const std::string& name, int episodes, int seed) const {
  const auto done = run({"sample", "--out", name, "--episodes", std::to_string(episodes), "--seed",
                         std::to_string(seed)});
  INFO(done.err);
  REQUIRE(done.exit_code == 0);
}

std::vector<std::string> TinyRuns::arguments(const std::string& command,
                                             const std::string& run,
                                             const Overrides& overrides) const {
  std::vector<std::string> out{command, std::string(WAM_SOURCE_DIR) + "/configs/tiny.yaml"};
  const auto set = [&out](const std::string& value) {
    out.emplace_back("--set");
    out.push_back(value);
  };
  set("run.dir=" + run);
  set("data.datasets=[{path: data, embodiment: tiny}]");
  for (const char* value : {"run.threads=1", "data.workers=1", "data.text_cache=text",
                            "data.index_cache=index", "validate.every=0", "checkpoint.keep=100"}) {
    set(value);
  }
  if (size_ == Size::kSmall) {
    for (const char* value : {"model.blocks=1", "train.global_batch=4", "train.micro_batch=4"}) {
      set(value);
    }
  }
  for (const auto& value : overrides) set(value);
  return out;
}

Outcome TinyRuns::train(const std::string& run, const Overrides& overrides, int ranks) const {
  return this->run(arguments("train", run, overrides), ranks);
}

Outcome TinyRuns::must_train(const std::string& run, const Overrides& overrides, int ranks) const {
  auto done = train(run, overrides, ranks);
  INFO(done.out << done.err);
  REQUIRE(done.exit_code == 0);
  return done;
}

Outcome TinyRuns::run(const std::vector<std::string>& arguments, int ranks) const {
  return run_wamtrain(arguments, path(), ranks);
}

std::filesystem::path TinyRuns::checkpoint(const std::string& run, std::int64_t step) const {
  return path() / run / "checkpoints" / fmt::format("step_{:08}", step);
}

std::string TinyRuns::state(const std::string& run, std::int64_t step) const {
  return file_content(checkpoint(run, step) / "shard_00000_of_00001.safetensors");
}

std::vector<std::string> TinyRuns::losses(const std::string& run) const {
  std::vector<std::string> out;
  std::ifstream in(path() / run / "metrics.jsonl");
  for (std::string line; std::getline(in, line);) {
    const auto json = nlohmann::json::parse(line);
    if (json.contains("loss")) out.push_back(json["step"].dump() + " " + json["loss"].dump());
  }
  return out;
}

std::string file_content(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  INFO(file.string());
  REQUIRE(in.good());
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::map<std::string, std::string> folder_content(const std::filesystem::path& folder) {
  std::map<std::string, std::string> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    out[entry.path().lexically_relative(folder).string()] = file_content(entry.path());
  }
  return out;
}

void damage(const std::filesystem::path& file) {
  std::string bytes = file_content(file);
  REQUIRE(!bytes.empty());
  char& byte = bytes[bytes.size() / 2];
  byte = static_cast<char>(byte ^ 1);
  std::ofstream(file, std::ios::binary) << bytes;
}

std::int64_t num_lines(const std::filesystem::path& file) {
  std::ifstream in(file);
  return std::count(std::istreambuf_iterator<char>(in), {}, '\n');
}

}  // namespace wam::test
