#pragma once

#include <cstdint>
#include <string>

namespace wam {

// What a run is going to put on the disk.
struct CheckpointNeed {
  std::uint64_t bytes_each = 0;  // one checkpoint, all shards together
  std::int64_t saves = 0;        // that the run plans from here on
  std::int64_t keep = 1;         // complete ones that stay, beside the one that is being written
  std::int64_t there = 0;        // complete ones of before
};

// Saves in steps (first_step, steps] of a run that saves every `every` steps (0: not) and at its
// end or not.
std::int64_t planned_saves(std::int64_t first_step,
                           std::int64_t steps,
                           std::int64_t every,
                           bool at_end);

// With `free_bytes` of the disk under `folder`: what a person should know, with figures, when the
// disk will be full before the run ends; empty when all fits.
// Errors: DeviceError when not even one checkpoint fits.
std::string judge_space(const CheckpointNeed& need,
                        std::uint64_t free_bytes,
                        const std::string& folder);

}  // namespace wam
