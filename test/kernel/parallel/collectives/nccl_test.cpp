// NCCL in recorded graphs. One GPU: an axis of one rank, which takes the same calls; several are
// for a machine that has them (scripts/gpu_check.sh, part ranks).

#include <cstdio>
#include <optional>

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "core/cuda/device.h"
#include "core/cuda/device_counter.h"
#include "core/cuda/graph.h"
#include "core/cuda/lane.h"
#include "parallel/collectives/nccl_collectives.h"
#include "parallel/watch/watched_collectives.h"
#include "test/support/catch.h"

namespace wam {
namespace {

const c10::Device kDevice(c10::kCUDA, 0);

}  // namespace

TEST_CASE("NCCL's collectives in a lane are recorded and replayed, and the device counts them") {
  if (!gpu_available()) {
    std::puts("SKIPPED: no GPU");
    return;
  }
  Progress progress;
  DeviceCounter counter(kDevice);
  const auto store = c10::make_intrusive<c10d::HashStore>();
  auto nccl = make_watched(make_nccl_collectives({.name = "world"}, store, kDevice), "world",
                           progress, &counter);
  Lane lane(kDevice);
  Mark done;
  const auto options = at::TensorOptions(kDevice).dtype(at::kFloat);
  at::Tensor source = at::arange(1024, options);
  at::Tensor gathered = at::arange(1024, options);
  at::Tensor summed = at::arange(1024, options);
  GraphPool pool(kDevice);
  std::optional<DeviceGraph> graph;
  graph.emplace(pool, "three collectives", [&] {
    lane.after_current();
    {
      const Lane::Scope scope(lane);
      nccl->all_gather(gathered, source, "a gather");
      nccl->reduce_scatter_sum(summed, gathered, "a scatter");
      nccl->all_reduce_sum(summed, "a sum");
      done.set(kDevice);
    }
    done.wait(kDevice);
  });
  synchronize_device(kDevice);
  const std::uint64_t before = counter.value();
  CHECK(before == 3 * DeviceGraph::kWarmUps);
  for (int i = 0; i < 4; ++i) {
    source.add_(1.0);
    graph->replay();
  }
  synchronize_device(kDevice);
  CHECK(at::equal(summed, source));
  CHECK(counter.value() == before + 4 * 3);
  graph.reset();
}

}  // namespace wam
