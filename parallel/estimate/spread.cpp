#include "parallel/estimate/spread.h"

#include <algorithm>

#include <fmt/core.h>

namespace wam {
namespace {

// The largest divisor of `whole` that is at most `wanted`.
std::int64_t divisor_near(std::int64_t whole, std::int64_t wanted) {
  std::int64_t divisor = std::clamp<std::int64_t>(wanted, 1, whole);
  while (whole % divisor != 0) --divisor;
  return divisor;
}

}  // namespace

RankGroup Spread::shard_group() const noexcept {
  return {.ranks = shard_size, .nodes = std::max<std::int64_t>(1, shard_size / gpus_of_a_node())};
}

RankGroup Spread::replica_group() const noexcept {
  const std::int64_t of_a_node = std::max<std::int64_t>(1, gpus_of_a_node() / shard_size);
  return {.ranks = replicas(), .nodes = replicas() / of_a_node};
}

std::vector<std::string> problems_of(const Spread& s) {
  if (s.gpus < 1 || s.nodes < 1 || s.shard_size < 1) {
    return {
        fmt::format("{} GPUs on {} nodes, {} of them a copy: expected at least 1 of each. Fix: "
                    "give positive numbers.",
                    s.gpus, s.nodes, s.shard_size)};
  }
  if (s.gpus % s.nodes != 0) {
    return {fmt::format(
        "{} GPUs do not lie evenly on {} nodes. Fix: take a multiple of the nodes, "
        "such as {} GPUs, or {} nodes.",
        s.gpus, s.nodes, (s.gpus / s.nodes + 1) * s.nodes, divisor_near(s.gpus, s.nodes))};
  }
  if (s.gpus % s.shard_size != 0) {
    return {
        fmt::format("{} GPUs cannot be groups of {} that share one copy. Fix: choose a size "
                    "that divides {}, such as {}.",
                    s.gpus, s.shard_size, s.gpus, divisor_near(s.gpus, s.shard_size))};
  }
  const std::int64_t node = s.gpus_of_a_node();
  if (s.shard_size % node != 0 && node % s.shard_size != 0) {
    return {
        fmt::format("groups of {} GPUs do not fill nodes of {}, nor nodes groups. Fix: choose a "
                    "size that divides {}, or a multiple of it, such as {}.",
                    s.shard_size, node, node, node)};
  }
  return {};
}

}  // namespace wam
