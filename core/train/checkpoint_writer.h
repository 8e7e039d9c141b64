#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/base/log.h"
#include "core/cuda/host_copy.h"
#include "core/io/safetensors.h"
#include "core/train/checkpoint_folder.h"
#include "core/train/manifest.h"
#include "core/train/rank_agreement.h"
#include "core/train/unit.h"

namespace wam {

struct CheckpointWriterOptions {
  std::filesystem::path folder;  // holds the step_* folders; created
  std::int64_t keep = 3;         // newest ones that stay; 0: all
  // False where another rank holds the same shard and writes it (replicas).
  bool writes = true;
  // The state lies in host memory and is written from where it is, without a copy: the next update
  // waits until it has been read.
  bool in_place = false;
  // With several ranks: what all of them, writers or not, agree through. Empty: there is one.
  ExchangeTexts exchange = {};
  // Called on the thread when the next piece is on its way to the disk, or is waited for there.
  std::function<void()> moved = {};
  // Called on the thread before the shard is written: a place for tests to be slow or to fail.
  std::function<void()> before_write = {};
};

// Writes checkpoints behind the training's back (D9): `save` starts a copy of the state arrays to
// host memory, and returns; a thread waits for the copy, writes, flushes and names the checkpoint,
// and deletes old ones.
//
// With several ranks a checkpoint gets its name when every shard is on the disk, and where one rank
// fails, none is published and every rank throws.
//
// Threads:  one caller; on a GPU on the stream that changes the state.
// Errors:   DeviceError (disk full, with figures). What fails on the thread, on any rank, is thrown
//           by the next save() or wait() of every rank; the checkpoints that were there before are
//           untouched.
// Shutdown: the destructor waits for the write in hand; an error of it goes to the log.
class CheckpointWriter {
 public:
  // The units' state arrays stay where they are. The thread allocates the memory of the copy, and
  // says so when that takes long: wait() before the first step, and no save will wait for it. The
  // writer of shard 0 removes what killed processes left in the folder, and says so.
  CheckpointWriter(CheckpointWriterOptions options, std::vector<Unit>& units, Log& log);
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;
  CheckpointWriter(CheckpointWriter&&) = delete;
  CheckpointWriter& operator=(CheckpointWriter&&) = delete;

  // Waits for the write before this one, if it is still going on, and logs for how long.
  void save(RunState run);
  // To be called before whatever changes the state: the current stream waits for the copy, or the
  // host for the reading of what is written in place.
  void before_update();
  // This rank still writes. What one rank finds says nothing about another.
  [[nodiscard]] bool is_busy() const noexcept { return busy_; }
  // Of one checkpoint, all shards together.
  [[nodiscard]] std::uint64_t checkpoint_bytes() const noexcept { return total_bytes_; }
  // Returns when the last save is on the disk.
  void wait();

 private:
  void start(std::function<void()> work);
  void allocate(std::vector<at::Tensor> sources);
  void say_where_state_waits() const;
  void release_state();
  void write(const Manifest& described);
  [[nodiscard]] std::string write_shard(const std::filesystem::path& folder);
  void publish(Manifest manifest, const std::vector<std::string>& shards);
  // The one rank that names checkpoints and tidies up.
  [[nodiscard]] bool publishes() const noexcept { return options_.writes && shard_idx_ == 0; }
  void say(const std::string& line) const;

  CheckpointWriterOptions options_;
  CheckpointFolder folder_;
  int shard_idx_;
  int num_shards_;
  Log& log_;
  RankAgreement ranks_;
  std::int64_t saves_ = 0;  // begun, the same on all ranks: names the exchanges
  std::int64_t last_step_ = 0;
  std::vector<ManifestUnit> described_;
  std::uint64_t total_bytes_ = 0;      // of all shards
  std::vector<TensorHeader> headers_;  // of this one
  std::vector<at::Tensor> arrays_;     // what is written: the copy, or the state itself
  std::optional<HostCopy> copy_;       // none: in place, or nothing to write
  bool copying_ = false;               // no update was told of the last copy yet
  std::atomic<bool> busy_ = false;
  std::atomic<bool> holds_state_ = false;  // in place: the thread has not read all of it yet
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace wam
