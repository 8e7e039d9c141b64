#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <thread>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/base/log.h"
#include "core/io/safetensors.h"
#include "core/train/checkpoint_folder.h"
#include "core/train/manifest.h"
#include "core/train/unit.h"

namespace wam {

struct CheckpointWriterOptions {
  std::filesystem::path folder;  // holds the step_* folders; created
  std::int64_t keep = 3;         // newest ones that stay; 0: all
  // With several ranks: called on the writer thread with this rank's file, returns every rank's, in
  // the order of their shards, when all are written. Rank 0 then names the checkpoint. Empty: this
  // rank is the only one.
  std::function<std::vector<ManifestFile>(const ManifestFile&)> gather = {};
};

// Writes checkpoints behind the training's back (D9): `save` copies the state arrays to host memory
// of its own, and returns; a thread writes, flushes and names the checkpoint, and deletes old ones.
//
// Threads:  one caller.
// Errors:   DeviceError (disk full, with figures). What fails on the thread is thrown by the next
//           save() or wait(); the checkpoints that were there before are untouched.
// Shutdown: the destructor waits for the write in hand; an error of it goes to the log.
class CheckpointWriter {
 public:
  // Removes what killed processes left in the folder, and says so (rank 0's writer only: with
  // several ranks a barrier stands between the constructors and the first save).
  CheckpointWriter(CheckpointWriterOptions options, const UnitPlacement& placement, Log& log);
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;
  CheckpointWriter(CheckpointWriter&&) = delete;
  CheckpointWriter& operator=(CheckpointWriter&&) = delete;

  // Waits for the write before this one, if it is still going on.
  void save(std::vector<Unit>& units, RunState run);
  // Returns when the last save is on the disk.
  void wait();

 private:
  void snapshot(std::vector<Unit>& units);
  [[nodiscard]] std::uint64_t snapshot_bytes(std::vector<Unit>& units) const;
  void write(const Manifest& manifest);
  [[nodiscard]] ManifestFile write_shard(const std::filesystem::path& folder) const;
  void say(const std::string& line) const;

  CheckpointWriterOptions options_;
  CheckpointFolder folder_;
  int shard_idx_;
  int num_shards_;
  Log& log_;
  // The snapshot, reused by every save; only the thread reads it while it runs.
  std::vector<TensorHeader> headers_;
  std::vector<at::Tensor> arrays_;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace wam
