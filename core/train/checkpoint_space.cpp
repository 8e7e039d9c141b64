#include "core/train/checkpoint_space.h"

#include <algorithm>

#include "core/base/errors.h"
#include "core/base/format.h"
#include "core/io/disk.h"

namespace wam {
namespace {

std::string human(std::uint64_t bytes) {
  return human_bytes(static_cast<double>(bytes));
}

}  // namespace

std::int64_t planned_saves(std::int64_t first_step,
                           std::int64_t steps,
                           std::int64_t every,
                           bool at_end) {
  const std::int64_t due =
      every > 0 ? std::max<std::int64_t>(0, steps / every - first_step / every) : 0;
  const bool last_is_due = every > 0 && steps % every == 0;
  return due + (at_end && !last_is_due && steps >= first_step ? 1 : 0);
}

std::string judge_space(const CheckpointNeed& need,
                        std::uint64_t free_bytes,
                        const std::string& folder) {
  if (need.saves == 0 || need.bytes_each == 0) return {};
  const std::uint64_t usable = free_bytes - std::min(free_bytes, kDiskReserve);
  require<DeviceError>(
      need.bytes_each <= usable,
      "checkpoints of this run: one takes {}, the disk under {} has {} free. Fix: free some space "
      "there, choose another run.dir, or train without checkpoints (checkpoint.every: 0 and "
      "checkpoint.at_end: false).",
      human(need.bytes_each), folder, human(free_bytes));
  // `keep` of them and the one that is being written, of which some are there; one more in any
  // case.
  const auto more = std::min(need.saves, std::max<std::int64_t>(1, need.keep + 1 - need.there));
  const auto fit = static_cast<std::int64_t>(usable / need.bytes_each);
  if (more <= fit) return {};
  return fmt::format(
      "the disk will be full before the run ends: a checkpoint takes {}, {} more will stand in {} "
      "at "
      "once, which has {} free. Lower checkpoint.keep to {}, or free {}.",
      human(need.bytes_each), more, folder, human(free_bytes),
      std::max<std::int64_t>(1, fit + need.there - 1),
      human(static_cast<std::uint64_t>(more) * need.bytes_each - usable));
}

}  // namespace wam
