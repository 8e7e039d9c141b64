#include "core/train/checkpoint_writer.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/base/errors.h"
#include "core/base/format.h"
#include "core/io/atomic_file.h"
#include "core/io/disk.h"
#include "core/io/hash.h"
#include "core/io/tensor_file.h"

namespace wam {
namespace {

using Clock = std::chrono::steady_clock;

// Waits that are worth a line in the log.
constexpr double kNotedWait_s = 0.1;
constexpr double kNotedAllocation_s = 1;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string text_of(const ManifestFile& file) {
  return nlohmann::json{{"name", file.name}, {"bytes", file.bytes}, {"xxh3", file.xxh3}}.dump();
}

ManifestFile file_of(const std::string& text) {
  const auto json = nlohmann::json::parse(text);
  return {.name = json.at("name").get<std::string>(),
          .bytes = json.at("bytes").get<std::uint64_t>(),
          .xxh3 = json.at("xxh3").get<std::string>()};
}

// The files of all ranks that wrote one, in the order of the shards that they are named by.
std::vector<ManifestFile> files_of(const std::vector<std::string>& texts, int num_shards) {
  std::vector<ManifestFile> files;
  for (const std::string& text : texts) {
    if (!text.empty()) files.push_back(file_of(text));
  }
  std::sort(files.begin(), files.end(),
            [](const ManifestFile& a, const ManifestFile& b) { return a.name < b.name; });
  const bool twice = std::adjacent_find(files.begin(), files.end(), [](auto& a, auto& b) {
                       return a.name == b.name;
                     }) != files.end();
  require<InvariantError>(!twice && files.size() == static_cast<std::size_t>(num_shards),
                          "{} ranks wrote a shard, expected one of each of {}{}", files.size(),
                          num_shards, twice ? " and not the same twice" : "");
  return files;
}

}  // namespace

CheckpointWriter::CheckpointWriter(CheckpointWriterOptions options,
                                   std::vector<Unit>& units,
                                   Log& log)
    : options_(std::move(options)),
      folder_(options_.folder),
      shard_idx_(units.front().placement().shard_idx),
      num_shards_(units.front().placement().num_shards),
      log_(log),
      ranks_(options_.exchange) {
  require<InvariantError>((num_shards_ == 1 && options_.writes) || options_.exchange,
                          "several ranks save, and nothing to agree through");
  make_folders(folder_.path());
  if (publishes()) folder_.remove_leftovers([this](const std::string& line) { say(line); });
  std::vector<at::Tensor> states;
  for (Unit& unit : units) {
    const UnitSpec& spec = unit.spec();
    described_.push_back(describe_unit(spec, num_shards_, unit.placement().state_type));
    for (const std::string& array : spec.state_arrays) {
      const at::Tensor& state = unit.state(array);
      headers_.push_back({.name = spec.name + "/" + array,
                          .dtype = dtype_name(state.scalar_type()),
                          .shape = {state.numel()}});
      total_bytes_ += static_cast<std::uint64_t>(spec.trainable_numel * state.element_size());
      invariant(!options_.in_place || state.is_cpu(), "state on a device, to be written in place");
      states.push_back(state);
    }
  }
  if (options_.in_place && options_.writes) arrays_ = std::move(states);
  const bool copies = options_.writes && !options_.in_place;
  start([this, sources = copies ? std::move(states) : std::vector<at::Tensor>()] {
    ranks_.all("checkpoint/memory", [&] {
      if (!sources.empty()) allocate(sources);
      return std::string();
    });
  });
}

CheckpointWriter::~CheckpointWriter() {
  if (thread_.joinable()) thread_.join();
  if (!error_) return;
  try {
    std::rethrow_exception(error_);
  } catch (const std::exception& e) {
    log_.warn(fmt::format("the last checkpoint was not written: {}", e.what()));
  }
}

void CheckpointWriter::say(const std::string& line) const {
  log_.info(line);
}

void CheckpointWriter::start(std::function<void()> work) {
  busy_ = true;
  thread_ = std::thread([this, work = std::move(work)] {
    try {
      work();
    } catch (...) {
      error_ = std::current_exception();
    }
    release_state();
    busy_ = false;
  });
}

void CheckpointWriter::allocate(std::vector<at::Tensor> sources) {
  const auto start = Clock::now();
  copy_.emplace(std::move(sources));
  arrays_ = copy_->host();
  const double took = seconds_since(start);
  if (took < kNotedAllocation_s) return;
  std::size_t bytes = 0;
  for (const at::Tensor& array : arrays_) bytes += array.nbytes();
  say(fmt::format("{} of host memory for checkpoints made ready in {}",
                  human_bytes(static_cast<double>(bytes)), human_seconds(took)));
}

void CheckpointWriter::say_where_state_waits() const {
  if (copy_->device().is_cpu()) return;
  const std::string size = human_bytes(static_cast<double>(copy_->bytes()));
  say(copy_->sets_aside()
          ? fmt::format("saving: {} of state are set aside on the GPU and travel from there", size)
          : fmt::format(
                "saving: no room to set {} of state aside on the GPU, so the update after a "
                "save waits for their way to the host",
                size));
}

void CheckpointWriter::release_state() {
  holds_state_ = false;
  holds_state_.notify_all();
}

void CheckpointWriter::wait() {
  if (thread_.joinable()) thread_.join();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void CheckpointWriter::before_update() {
  if (options_.in_place) {
    holds_state_.wait(true);
  } else if (std::exchange(copying_, false)) {
    copy_->before_overwrite();
  }
}

void CheckpointWriter::save(RunState run) {
  const bool was_busy = is_busy() && saves_ > 0;
  const auto start_of_wait = Clock::now();
  wait();
  const double waited = seconds_since(start_of_wait);
  if (was_busy && waited >= kNotedWait_s) {
    say(
        fmt::format("saving step {} waited {} for the checkpoint of step {}, which was still being "
                    "written",
                    run.step, human_seconds(waited), last_step_));
  }
  ++saves_;
  last_step_ = run.step;
  if (copy_) {
    copy_->take();
    copying_ = true;
    if (saves_ == 1) say_where_state_waits();
  }
  holds_state_ = options_.in_place && options_.writes;
  Manifest manifest;
  manifest.run = std::move(run);
  manifest.units = described_;
  start([this, manifest = std::move(manifest)] { write(manifest); });
}

std::string CheckpointWriter::write_shard(const std::filesystem::path& folder) {
  if (!options_.writes) return {};
  if (options_.before_write) options_.before_write();
  if (copy_) copy_->wait();
  make_folders(folder);  // a shared file system may show what another rank made only later
  ManifestFile file;
  file.name = fmt::format("shard_{:05}_of_{:05}.safetensors", shard_idx_, num_shards_);
  SafetensorsWriter writer(folder / file.name, headers_, {{"format", "wamtrain flat units"}});
  for (const at::Tensor& array : arrays_) {
    writer.write_next(array.const_data_ptr(), array.nbytes());
    if (options_.moved) options_.moved();
  }
  release_state();
  file.xxh3 = hash_hex(writer.finish(options_.moved));
  std::error_code error;
  file.bytes = std::filesystem::file_size(folder / file.name, error);
  require<DeviceError>(!error, "writing {}: it is gone ({}).", (folder / file.name).string(),
                       error.message());
  return text_of(file);
}

void CheckpointWriter::write(const Manifest& described) {
  const auto start = Clock::now();
  const std::int64_t step = described.run.step;
  const std::filesystem::path temporary = folder_.temporary_of_step(step);
  const std::string key = fmt::format("checkpoint/{}/", saves_);
  try {
    // Nobody writes before there is room for all.
    ranks_.all(key + "begin", [&] {
      if (publishes()) {
        check_free_space(folder_.path(), total_bytes_,
                         fmt::format("saving the checkpoint of step {}", step));
        make_folders(temporary);
      }
      return std::string();
    });
    const auto shards = ranks_.all(key + "write", [&] { return write_shard(temporary); });
    ranks_.all(key + "publish", [&] {
      if (publishes()) publish(described, shards);
      return std::string();
    });
  } catch (...) {
    std::error_code ignored;
    if (publishes()) std::filesystem::remove_all(temporary, ignored);
    throw;
  }
  if (!publishes()) return;
  log_.info(fmt::format("saved {} ({}, {})", folder_.of_step(step).string(),
                        human_bytes(static_cast<double>(total_bytes_)),
                        human_seconds(seconds_since(start))));
}

void CheckpointWriter::publish(Manifest manifest, const std::vector<std::string>& shards) {
  const std::int64_t step = manifest.run.step;
  manifest.files = files_of(shards, num_shards_);
  write_file_atomically(folder_.temporary_of_step(step) / "manifest.json", manifest_text(manifest));
  folder_.commit(step, [this](const std::string& line) { say(line); });
  folder_.prune(step, options_.keep, options_.moved);
}

}  // namespace wam
