#include "core/train/offloaded_update.h"

#include <algorithm>
#include <utility>

#include <ATen/core/grad_mode.h>

#include "core/base/errors.h"
#include "core/cuda/pinned.h"
#include "core/ops/adamw/adamw_decision.h"

namespace wam {
namespace {

// One piece is updated while the next is on its way in and the last on its way out.
constexpr std::size_t kSlots = 3;
// Elements of a byte of the decay bits, at which pieces may begin.
constexpr std::int64_t kElementsPerByte = 512;

// What of the segments lies in [begin, end), counted from there.
std::vector<FlatSegment> part_of(const std::vector<FlatSegment>& segments,
                                 std::int64_t begin,
                                 std::int64_t end) {
  std::vector<FlatSegment> out;
  for (const FlatSegment& s : segments) {
    const std::int64_t from = std::max(s.begin, begin);
    const std::int64_t to = std::min(s.begin + s.numel, end);
    if (from < to) out.push_back({from - begin, to - from});
  }
  return out;
}

}  // namespace

OffloadedUpdate::OffloadedUpdate(std::vector<const AdamWShard*> shards,
                                 const OffloadOptions& options,
                                 WorkerPool& workers)
    : shards_(std::move(shards)),
      options_(options),
      workers_(workers),
      control_(make_adamw_control(at::kCPU)),
      downloads_(options.device),
      uploads_(options.device) {
  invariant(options.piece_elements % kElementsPerByte == 0, "pieces that cut a byte of decay bits");
  std::int64_t largest = 0;
  for (const AdamWShard* shard : shards_) largest = std::max(largest, shard->master.numel());
  const std::int64_t numel = std::min(largest, options.piece_elements);
  slots_.resize(kSlots);
  for (Slot& slot : slots_) {
    slot.gradient = host_buffer({numel}, shards_.front()->master.scalar_type(), options.device);
    slot.compute = host_buffer({numel}, options.compute_type, options.device);
  }
  for (std::size_t i = 0; i < shards_.size(); ++i) add_pieces(i);
}

OffloadedUpdate::~OffloadedUpdate() {
  for (const Slot& slot : slots_) slot.uploaded.synchronize();
}

void OffloadedUpdate::add_pieces(std::size_t shard_idx) {
  const AdamWShard& whole = *shards_[shard_idx];
  for (std::int64_t begin = 0; begin < whole.master.numel(); begin += options_.piece_elements) {
    const std::int64_t numel = std::min(options_.piece_elements, whole.master.numel() - begin);
    const std::int64_t bytes = (numel + kElementsPerByte - 1) / kElementsPerByte;
    const std::size_t slot_idx = pieces_.size() % kSlots;
    const Slot& slot = slots_[slot_idx];
    pieces_.push_back(
        {.shard_idx = shard_idx,
         .slot_idx = slot_idx,
         .begin = begin,
         .numel = numel,
         .on_host = {.master = whole.master.narrow(0, begin, numel),
                     .exp_avg = whole.exp_avg.narrow(0, begin, numel),
                     .exp_avg_sq = whole.exp_avg_sq.narrow(0, begin, numel),
                     .gradient = slot.gradient.narrow(0, 0, numel),
                     .compute = slot.compute.narrow(0, 0, numel),
                     .decayed = part_of(whole.decayed, begin, begin + numel),
                     .plain = part_of(whole.plain, begin, begin + numel),
                     .decay_bits = whole.decay_bits.narrow(0, begin / kElementsPerByte, bytes)}});
  }
}

void OffloadedUpdate::download(const Piece& piece) {
  const Lane::Scope scope(downloads_);
  piece.on_host.gradient.copy_(
      shards_[piece.shard_idx]->gradient.narrow(0, piece.begin, piece.numel),
      /*non_blocking=*/true);
  slots_[piece.slot_idx].downloaded.set(options_.device);
}

void OffloadedUpdate::upload(const Piece& piece) {
  const Lane::Scope scope(uploads_);
  shards_[piece.shard_idx]
      ->compute.narrow(0, piece.begin, piece.numel)
      .copy_(piece.on_host.compute, /*non_blocking=*/true);
  slots_[piece.slot_idx].uploaded.set(options_.device);
}

void OffloadedUpdate::update(const Piece& piece, const AdamWOptions& options) {
  AdamWShard on_host = piece.on_host;
  const at::Tensor compute = shards_[piece.shard_idx]->compute.narrow(0, piece.begin, piece.numel);
  // Without a GPU everything is host memory, and takes the way through the ring.
  const bool stays = compute.is_cpu() && !options_.device.is_cpu();
  if (stays) on_host.compute = compute;
  adamw_update(on_host, control_, options, &workers_);
  if (!stays) upload(piece);
}

void OffloadedUpdate::run(const AdamWControl& control, const AdamWOptions& options) {
  for (const AdamWShard* shard : shards_) {
    invariant(shard->compute.defined(), "an offloaded update without a compute copy");
  }
  const at::NoGradGuard no_grad;
  invariant(!options.zero_gradients, "an offloaded update that zeroes gradients");
  // The host waits here for the gradients and their norm.
  control_.learning_rate.copy_(control.learning_rate);
  control_.decision.copy_(control.decision);
  const auto* decision =
      reinterpret_cast<const AdamWDecision*>(control_.decision.const_data_ptr<float>());
  if (decision->skipped != 0) return;
  downloads_.after_current();
  uploads_.after_current();
  for (std::size_t i = 0; i < std::min(kSlots, pieces_.size()); ++i) download(pieces_[i]);
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    slots_[piece.slot_idx].downloaded.synchronize();
    slots_[piece.slot_idx].uploaded.synchronize();
    update(piece, options);
    if (i + kSlots < pieces_.size()) download(pieces_[i + kSlots]);
  }
  for (const Slot& slot : slots_) slot.uploaded.wait(options_.device);
}

}  // namespace wam
