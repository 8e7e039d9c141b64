#include "core/base/errors.h"
#include "core/cuda/graph.h"

namespace wam {

struct LongLivedMemory::Impl {};
struct GraphPool::Impl {};
struct DeviceGraph::Impl {};

LongLivedMemory::LongLivedMemory(c10::Device /*device*/) {}
LongLivedMemory::~LongLivedMemory() = default;

GraphPool::GraphPool(c10::Device /*device*/, GraphObserver* /*observer*/) {
  throw InvariantError("a CUDA graph in a build without GPU support");
}
GraphPool::~GraphPool() = default;

DeviceGraph::DeviceGraph(GraphPool& /*pool*/,
                         const char* /*what*/,
                         const std::function<void()>& /*work*/) {
  throw InvariantError("a CUDA graph in a build without GPU support");
}
DeviceGraph::~DeviceGraph() = default;

void DeviceGraph::replay() {}

}  // namespace wam
