#include "core/ops/attention/cudnn_attention.h"

#include <array>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <ATen/cudnn/Handle.h>
#include <ATen/ops/empty.h>

#include <cudnn_frontend.h>

#include "core/base/errors.h"

namespace wam {
namespace {

namespace fe = cudnn_frontend;
using Extents = std::vector<std::int64_t>;

// Names of the graph's tensors, as cuDNN identifies them.
enum Uid : std::int64_t { kQ = 1, kK, kV, kOut, kStats, kGradOut, kGradQ, kGradK, kGradV };

void check(fe::error_t status, const char* doing, const std::string& shape) {
  require<DeviceError>(status.is_good(), "{} (attention {}): {}.", doing, shape,
                       status.get_message());
}

// cuDNN wants (B, N, L, K) extents; ours are (B, L, N, K) views, so only the order changes.
Extents swapped(at::IntArrayRef v) {
  return {v[0], v[2], v[1], v[3]};
}

std::shared_ptr<fe::graph::Tensor_attributes> input(fe::graph::Graph& graph,
                                                    Uid uid,
                                                    const char* name,
                                                    const at::Tensor& t_BLNK) {
  return graph.tensor(fe::graph::Tensor_attributes()
                          .set_name(name)
                          .set_uid(uid)
                          .set_dim(swapped(t_BLNK.sizes()))
                          .set_stride(swapped(t_BLNK.strides())));
}

void output(const std::shared_ptr<fe::graph::Tensor_attributes>& tensor,
            Uid uid,
            const at::Tensor& t_BLNK) {
  tensor->set_output(true)
      .set_uid(uid)
      .set_dim(swapped(t_BLNK.sizes()))
      .set_stride(swapped(t_BLNK.strides()));
}

fe::graph::Tensor_attributes stats_attributes(const at::Tensor& q_BLNK) {
  const std::int64_t length = q_BLNK.size(1);
  const std::int64_t heads = q_BLNK.size(2);
  return fe::graph::Tensor_attributes()
      .set_name("log_sum_exp")
      .set_uid(kStats)
      .set_dim({q_BLNK.size(0), heads, length, 1})
      .set_stride({heads * length, length, 1, 1})
      .set_data_type(fe::DataType_t::FLOAT);
}

std::string shape_text(const at::Tensor& q_BLNK, const at::Tensor& k_BMNK) {
  return fmt::format("batch {}, {} heads of {}, {} queries x {} keys", q_BLNK.size(0),
                     q_BLNK.size(2), q_BLNK.size(3), q_BLNK.size(1), k_BMNK.size(1));
}

struct Plan {
  std::shared_ptr<fe::graph::Graph> graph;
  std::int64_t workspace_bytes = 0;
  std::string shape;

  void run(const char* doing,
           std::unordered_map<std::int64_t, void*> pointers,
           const at::Tensor& like) {
    const at::Tensor workspace = at::empty({workspace_bytes}, like.options().dtype(at::kByte));
    check(graph->execute(at::native::getCudnnHandle(), pointers, workspace.mutable_data_ptr()),
          doing, shape);
  }
};

std::shared_ptr<fe::graph::Graph> new_graph() {
  auto graph = std::make_shared<fe::graph::Graph>();
  graph->set_io_data_type(fe::DataType_t::BFLOAT16)
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  return graph;
}

Plan build(std::shared_ptr<fe::graph::Graph> graph, const std::string& shape) {
  cudnnHandle_t handle = at::native::getCudnnHandle();
  check(graph->validate(), "describing to cuDNN", shape);
  check(graph->build_operation_graph(handle), "building cuDNN's graph", shape);
  check(graph->create_execution_plans({fe::HeurMode_t::A}), "asking cuDNN for a plan", shape);
  check(graph->check_support(), "asking cuDNN for support", shape);
  check(graph->build_plans(), "building cuDNN's plan", shape);
  Plan plan;
  check(graph->get_workspace_size(plan.workspace_bytes), "asking for cuDNN's workspace", shape);
  plan.graph = std::move(graph);
  plan.shape = shape;
  return plan;
}

void* pointer(const at::Tensor& tensor) {
  return tensor.data_ptr();
}

}  // namespace

struct CudnnAttention::Plans {
  // Everything a plan depends on: extents and strides of q, k, v (and of the gradient), and scale.
  using Key = std::vector<std::int64_t>;
  std::map<Key, Plan> forward;
  std::map<Key, Plan> backward;

  static Key key(std::initializer_list<at::Tensor> tensors, double scale) {
    Key key;
    for (const auto& tensor : tensors) {
      key.insert(key.end(), tensor.sizes().begin(), tensor.sizes().end());
      key.insert(key.end(), tensor.strides().begin(), tensor.strides().end());
    }
    key.push_back(static_cast<std::int64_t>(scale * 1e12));
    return key;
  }
};

CudnnAttention::CudnnAttention(bool deterministic)
    : plans_(std::make_unique<Plans>()), deterministic_(deterministic) {}
CudnnAttention::~CudnnAttention() = default;

at::Tensor CudnnAttention::forward(const at::Tensor& q_BLNK,
                                   const at::Tensor& k_BMNK,
                                   const at::Tensor& v_BMNK,
                                   const AttentionOptions& options,
                                   const at::Tensor& out_BLNK) {
  invariant(!options.key_bias_M.defined(), "cuDNN attention takes no key bias");
  at::Tensor lse = at::empty({q_BLNK.size(0), q_BLNK.size(2), q_BLNK.size(1)},
                             q_BLNK.options().dtype(at::kFloat));
  const auto key = Plans::key({q_BLNK, k_BMNK, v_BMNK, out_BLNK}, options.scale);
  auto found = plans_->forward.find(key);
  if (found == plans_->forward.end()) {
    auto graph = new_graph();
    auto q = input(*graph, kQ, "q", q_BLNK);
    auto k = input(*graph, kK, "k", k_BMNK);
    auto v = input(*graph, kV, "v", v_BMNK);
    auto [out, stats] = graph->sdpa(q, k, v,
                                    fe::graph::SDPA_attributes()
                                        .set_name("attention")
                                        .set_generate_stats(true)
                                        .set_attn_scale(static_cast<float>(options.scale)));
    output(out, kOut, out_BLNK);
    *stats = stats_attributes(q_BLNK);
    stats->set_output(true);
    found = plans_->forward.emplace(key, build(graph, shape_text(q_BLNK, k_BMNK))).first;
  }
  found->second.run("attention forward",
                    {{kQ, pointer(q_BLNK)},
                     {kK, pointer(k_BMNK)},
                     {kV, pointer(v_BMNK)},
                     {kOut, pointer(out_BLNK)},
                     {kStats, pointer(lse)}},
                    q_BLNK);
  return lse;
}

void CudnnAttention::backward(const at::Tensor& dout_BLNK,
                              const at::Tensor& q_BLNK,
                              const at::Tensor& k_BMNK,
                              const at::Tensor& v_BMNK,
                              const at::Tensor& out_BLNK,
                              const at::Tensor& lse_BNL,
                              const AttentionOptions& options,
                              const AttentionGradients& gradients) {
  const auto& [dq, dk, dv] = gradients;
  const auto key =
      Plans::key({q_BLNK, k_BMNK, v_BMNK, out_BLNK, dout_BLNK, dq, dk, dv}, options.scale);
  auto found = plans_->backward.find(key);
  if (found == plans_->backward.end()) {
    auto graph = new_graph();
    auto q = input(*graph, kQ, "q", q_BLNK);
    auto k = input(*graph, kK, "k", k_BMNK);
    auto v = input(*graph, kV, "v", v_BMNK);
    auto out = input(*graph, kOut, "out", out_BLNK);
    auto dout = input(*graph, kGradOut, "dout", dout_BLNK);
    auto stats = graph->tensor(stats_attributes(q_BLNK));
    auto [gq, gk, gv] = graph->sdpa_backward(q, k, v, out, dout, stats,
                                             fe::graph::SDPA_backward_attributes()
                                                 .set_name("attention_backward")
                                                 .set_attn_scale(static_cast<float>(options.scale))
                                                 .set_deterministic_algorithm(deterministic_));
    output(gq, kGradQ, dq);
    output(gk, kGradK, dk);
    output(gv, kGradV, dv);
    found = plans_->backward.emplace(key, build(graph, shape_text(q_BLNK, k_BMNK))).first;
  }
  found->second.run("attention backward",
                    {{kQ, pointer(q_BLNK)},
                     {kK, pointer(k_BMNK)},
                     {kV, pointer(v_BMNK)},
                     {kOut, pointer(out_BLNK)},
                     {kStats, pointer(lse_BNL)},
                     {kGradOut, pointer(dout_BLNK)},
                     {kGradQ, pointer(dq)},
                     {kGradK, pointer(dk)},
                     {kGradV, pointer(dv)}},
                    q_BLNK);
}

}  // namespace wam
