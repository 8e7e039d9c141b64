#include "core/train/checkpoint_writer.h"

#include <chrono>
#include <system_error>
#include <utility>

#include "core/base/errors.h"
#include "core/base/format.h"
#include "core/cuda/pinned.h"
#include "core/io/atomic_file.h"
#include "core/io/disk.h"
#include "core/io/hash.h"
#include "core/io/tensor_file.h"

namespace wam {
CheckpointWriter::CheckpointWriter(CheckpointWriterOptions options,
                                   const UnitPlacement& placement,
                                   Log& log)
    : options_(std::move(options)),
      folder_(options_.folder),
      shard_idx_(placement.shard_idx),
      num_shards_(placement.num_shards),
      log_(log) {
  require<InvariantError>(num_shards_ == 1 || options_.gather,
                          "{} shards need a way to gather what every rank wrote", num_shards_);
  make_folders(folder_.path());
  if (shard_idx_ == 0) folder_.remove_leftovers([this](const std::string& line) { say(line); });
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

void CheckpointWriter::wait() {
  if (thread_.joinable()) thread_.join();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void CheckpointWriter::save(std::vector<Unit>& units, RunState run) {
  wait();
  check_free_space(folder_.path(), snapshot_bytes(units),
                   fmt::format("saving the checkpoint of step {}", run.step));
  snapshot(units);
  Manifest manifest;
  manifest.run = std::move(run);
  for (const Unit& unit : units) {
    manifest.units.push_back(describe_unit(unit.spec(), num_shards_, unit.placement().state_type));
  }
  thread_ = std::thread([this, manifest = std::move(manifest)] {
    try {
      write(manifest);
    } catch (...) {
      error_ = std::current_exception();
    }
  });
}

std::uint64_t CheckpointWriter::snapshot_bytes(std::vector<Unit>& units) const {
  std::uint64_t bytes = 0;
  for (Unit& unit : units) {
    for (const std::string& array : unit.spec().state_arrays) bytes += unit.state(array).nbytes();
  }
  return bytes;
}

void CheckpointWriter::snapshot(std::vector<Unit>& units) {
  headers_.clear();
  std::size_t at = 0;
  for (Unit& unit : units) {
    for (const std::string& array : unit.spec().state_arrays) {
      const at::Tensor& state = unit.state(array);
      if (at == arrays_.size()) arrays_.push_back(host_buffer_for(state));
      invariant(arrays_[at].sizes() == state.sizes(), "units changed their size between saves");
      // Returns when the bytes are on the host, ordered after what the device was told before.
      arrays_[at].copy_(state);
      headers_.push_back({.name = unit.spec().name + "/" + array,
                          .dtype = dtype_name(state.scalar_type()),
                          .shape = {state.numel()}});
      ++at;
    }
  }
}

ManifestFile CheckpointWriter::write_shard(const std::filesystem::path& folder) const {
  ManifestFile file;
  file.name = fmt::format("shard_{:05}_of_{:05}.safetensors", shard_idx_, num_shards_);
  SafetensorsWriter writer(folder / file.name, headers_, {{"format", "wamtrain flat units"}});
  for (const at::Tensor& array : arrays_) writer.write_next(array.const_data_ptr(), array.nbytes());
  file.xxh3 = hash_hex(writer.finish());
  std::error_code error;
  file.bytes = std::filesystem::file_size(folder / file.name, error);
  require<DeviceError>(!error, "writing {}: it is gone ({}).", (folder / file.name).string(),
                       error.message());
  return file;
}

void CheckpointWriter::write(const Manifest& described) {
  const auto start = std::chrono::steady_clock::now();
  const std::int64_t step = described.run.step;
  const std::filesystem::path temporary = folder_.temporary_of_step(step);
  try {
    make_folders(temporary);
    const ManifestFile mine = write_shard(temporary);
    Manifest manifest = described;
    manifest.files = options_.gather ? options_.gather(mine) : std::vector{mine};
    if (shard_idx_ != 0) return;
    write_file_atomically(temporary / "manifest.json", manifest_text(manifest));
    folder_.commit(step, [this](const std::string& line) { say(line); });
    folder_.prune(step, options_.keep);
    std::uint64_t bytes = 0;
    for (const ManifestFile& file : manifest.files) bytes += file.bytes;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    log_.info(fmt::format("saved {} ({}, {})", folder_.of_step(step).string(),
                          human_bytes(static_cast<double>(bytes)), human_seconds(took.count())));
  } catch (...) {
    std::error_code ignored;
    if (shard_idx_ == 0) std::filesystem::remove_all(temporary, ignored);
    throw;
  }
}

}  // namespace wam
