#include "core/ops/attention/cudnn_plan.h"

#include <algorithm>
#include <array>

#include <ATen/cudnn/Handle.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include <cudnn_frontend.h>

#include "core/base/errors.h"
#include "core/cuda/graph.h"

namespace wam {
namespace {

namespace fe = cudnn_frontend;
using fe::graph::Tensor_attributes;
using Attributes = std::shared_ptr<Tensor_attributes>;
using Extents = std::vector<std::int64_t>;

// Numbers of the graph's tensors, as cuDNN identifies them. Where sequences differ in length, each
// of the first nine has a table of its first elements at kRagged + its number.
enum Uid : std::int64_t {
  kQ = 1,
  kK,
  kV,
  kOut,
  kGradOut,
  kGradQ,
  kGradK,
  kGradV,
  kStats,
  kBias,
  kQueryCounts,
  kKeyCounts,
  kRagged = 100
};

void check(fe::error_t status, const char* doing, const std::string& text) {
  require<DeviceError>(status.is_good(), "{} (attention {}): {}.", doing, text,
                       status.get_message());
}

std::int64_t longest(const CudnnProblem& p, std::int64_t AttentionSequence::*count) {
  std::int64_t most = 0;
  for (const AttentionSequence& s : p.sequences) most = std::max(most, s.*count);
  return most;
}

// cuDNN counts every sequence of every sample as a sample of its own.
std::int64_t cudnn_batch(const CudnnProblem& p) {
  return p.q_BLNK.size(0) *
         std::max<std::int64_t>(1, static_cast<std::int64_t>(p.sequences.size()));
}
std::int64_t cudnn_queries(const CudnnProblem& p) {
  return p.sequences.empty() ? p.q_BLNK.size(1) : longest(p, &AttentionSequence::queries);
}
std::int64_t cudnn_keys(const CudnnProblem& p) {
  return p.sequences.empty() ? p.k_BMNK.size(1) : longest(p, &AttentionSequence::keys);
}

// cuDNN's extents and strides are those of (batch, heads, tokens, width); ours are (B, L, N, K)
// views, so only the order changes.
Tensor_attributes tensor(Uid uid, const at::Tensor& t_BLNK, const CudnnProblem& p, bool is_query) {
  const std::int64_t tokens = is_query ? cudnn_queries(p) : cudnn_keys(p);
  return Tensor_attributes()
      .set_uid(uid)
      .set_dim({cudnn_batch(p), t_BLNK.size(2), tokens, t_BLNK.size(3)})
      .set_stride({p.sequences.empty() ? t_BLNK.stride(0) : tokens * t_BLNK.stride(1),
                   t_BLNK.stride(2), t_BLNK.stride(1), t_BLNK.stride(3)});
}

// Packed, as cuDNN 9.19 wants it: of a sample or, in a group, of a sequence.
Tensor_attributes statistics(const CudnnProblem& p) {
  invariant(p.lse.is_contiguous(), "a log-sum-exp that is not contiguous");
  const std::int64_t queries = cudnn_queries(p);
  return Tensor_attributes()
      .set_uid(kStats)
      .set_dim({cudnn_batch(p), p.q_BLNK.size(2), queries, 1})
      .set_stride({p.q_BLNK.size(2) * queries, queries, 1, 1})
      .set_data_type(fe::DataType_t::FLOAT);
}

Tensor_attributes table(Uid uid, std::int64_t values) {
  return Tensor_attributes()
      .set_uid(uid)
      .set_dim({values, 1, 1, 1})
      .set_stride({1, 1, 1, 1})
      .set_data_type(fe::DataType_t::INT32);
}

at::Tensor counts(const CudnnProblem& p, std::int64_t AttentionSequence::*count) {
  std::vector<std::int32_t> out;
  for (std::int64_t b = 0; b < p.q_BLNK.size(0); ++b) {
    for (const AttentionSequence& s : p.sequences)
      out.push_back(static_cast<std::int32_t>(s.*count));
  }
  return at::tensor(out, at::kInt).to(p.q_BLNK.device());
}

// The first element of every sequence in `t`, and the end of the last.
at::Tensor first_elements(const CudnnProblem& p, const at::Tensor& t_BLNK, bool is_query) {
  std::vector<std::int32_t> out;
  const auto element = [&](std::int64_t sample, std::int64_t token) {
    const std::int64_t at = sample * t_BLNK.stride(0) + token * t_BLNK.stride(1);
    invariant(at <= INT32_MAX, "a ragged attention over more than 2^31 elements");
    return static_cast<std::int32_t>(at);
  };
  for (std::int64_t b = 0; b < t_BLNK.size(0); ++b) {
    for (const AttentionSequence& s : p.sequences) {
      out.push_back(element(b, is_query ? s.query_begin : s.key_begin));
    }
  }
  out.push_back(element(t_BLNK.size(0) - 1, t_BLNK.size(1)));
  return at::tensor(out, at::kInt).to(t_BLNK.device());
}

// A float bias for every query, as cuDNN's backward wants it; (M) expanded on the device.
at::Tensor bias_for_queries(const CudnnProblem& p) {
  return p.key_bias_M.expand({1, 1, p.q_BLNK.size(1), p.key_bias_M.size(0)}).contiguous();
}

struct Operand {
  Uid uid;
  const at::Tensor* tensor;
  bool is_query;
};
std::vector<Operand> operands(const CudnnProblem& p) {
  std::vector<Operand> out = {{kQ, &p.q_BLNK, true},
                              {kK, &p.k_BMNK, false},
                              {kV, &p.v_BMNK, false},
                              {kOut, &p.out_BLNK, true}};
  if (p.is_backward()) {
    out.insert(out.end(), {{kGradOut, &p.dout_BLNK, true},
                           {kGradQ, &p.dq_BLNK, true},
                           {kGradK, &p.dk_BMNK, false},
                           {kGradV, &p.dv_BMNK, false}});
  }
  return out;
}

// Describes the tensors of one problem to a graph.
class Describer {
 public:
  Describer(fe::graph::Graph& graph,
            const CudnnProblem& problem,
            std::unordered_map<std::int64_t, at::Tensor>& tables)
      : graph_(graph), p_(problem) {
    if (p_.sequences.empty()) return;
    const LongLivedMemory outlives_a_warm_up(p_.q_BLNK.device());
    tables[kQueryCounts] = counts(p_, &AttentionSequence::queries);
    tables[kKeyCounts] = counts(p_, &AttentionSequence::keys);
    for (const Operand& o : operands(p_)) {
      tables[kRagged + o.uid] = first_elements(p_, *o.tensor, o.is_query);
    }
  }

  Attributes input(Uid uid, const at::Tensor& t, bool is_query) {
    Tensor_attributes attributes = tensor(uid, t, p_, is_query);
    if (!p_.sequences.empty()) attributes.set_ragged_offset(ragged(uid));
    return graph_.tensor(attributes);
  }
  void output(const Attributes& to, Uid uid, const at::Tensor& t, bool is_query) {
    const Tensor_attributes attributes = tensor(uid, t, p_, is_query);
    to->set_output(true)
        .set_uid(uid)
        .set_dim(attributes.get_dim())
        .set_stride(attributes.get_stride());
    if (!p_.sequences.empty()) to->set_ragged_offset(ragged(uid));
  }
  Attributes lse() { return graph_.tensor(statistics(p_)); }
  Attributes bias() {
    const std::int64_t queries = p_.q_BLNK.size(1);
    const std::int64_t keys = p_.key_bias_M.size(0);
    return graph_.tensor(Tensor_attributes()
                             .set_uid(kBias)
                             .set_dim({1, 1, queries, keys})
                             .set_stride({queries * keys, queries * keys, keys, 1})
                             .set_data_type(fe::DataType_t::FLOAT));
  }
  Attributes counts_of(Uid uid) { return graph_.tensor(table(uid, cudnn_batch(p_))); }

 private:
  Attributes ragged(Uid uid) {
    return graph_.tensor(table(static_cast<Uid>(kRagged + uid), cudnn_batch(p_) + 1));
  }

  fe::graph::Graph& graph_;
  const CudnnProblem& p_;
};

}  // namespace

std::vector<std::int64_t> CudnnProblem::key() const {
  std::vector<std::int64_t> key;
  for (const at::Tensor* t : {&q_BLNK, &k_BMNK, &v_BMNK, &out_BLNK, &lse, &dout_BLNK, &dq_BLNK,
                              &dk_BMNK, &dv_BMNK, &key_bias_M}) {
    key.push_back(t->defined() ? t->dim() : 0);
    if (!t->defined()) continue;
    key.insert(key.end(), t->sizes().begin(), t->sizes().end());
    key.insert(key.end(), t->strides().begin(), t->strides().end());
  }
  for (const AttentionSequence& s : sequences) {
    key.insert(key.end(), {s.query_begin, s.queries, s.key_begin, s.keys});
  }
  key.push_back(static_cast<std::int64_t>(scale * 1e12));
  return key;
}

std::string CudnnProblem::text() const {
  return fmt::format("{}, batch {}, {} heads of {}, {} queries x {} keys{}",
                     is_backward() ? "backward" : "forward", cudnn_batch(*this), q_BLNK.size(2),
                     q_BLNK.size(3), cudnn_queries(*this), cudnn_keys(*this),
                     sequences.empty() ? "" : " at most");
}

CudnnPlan::CudnnPlan(const CudnnProblem& problem)
    : graph_(std::make_shared<fe::graph::Graph>()), text_(problem.text()) {
  graph_->set_io_data_type(fe::DataType_t::BFLOAT16)
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  if (problem.is_backward()) {
    describe_backward(problem);
  } else {
    describe_forward(problem);
  }
  build();
}

void CudnnPlan::describe_forward(const CudnnProblem& p) {
  Describer d(*graph_, p, tables_);
  auto options = fe::graph::SDPA_attributes()
                     .set_name("attention")
                     .set_generate_stats(true)
                     .set_attn_scale(static_cast<float>(p.scale));
  if (p.key_bias_M.defined()) options.set_bias(d.bias());
  if (!p.sequences.empty()) {
    options.set_padding_mask(true)
        .set_seq_len_q(d.counts_of(kQueryCounts))
        .set_seq_len_kv(d.counts_of(kKeyCounts));
  }
  auto [out, lse] = graph_->sdpa(d.input(kQ, p.q_BLNK, true), d.input(kK, p.k_BMNK, false),
                                 d.input(kV, p.v_BMNK, false), options);
  d.output(out, kOut, p.out_BLNK, true);
  *lse = statistics(p);
  lse->set_output(true);
}

void CudnnPlan::describe_backward(const CudnnProblem& p) {
  Describer d(*graph_, p, tables_);
  auto options = fe::graph::SDPA_backward_attributes()
                     .set_name("attention_backward")
                     .set_attn_scale(static_cast<float>(p.scale))
                     .set_deterministic_algorithm(p.deterministic);
  if (p.key_bias_M.defined()) options.set_bias(d.bias());
  if (!p.sequences.empty()) {
    options.set_padding_mask(true)
        .set_seq_len_q(d.counts_of(kQueryCounts))
        .set_seq_len_kv(d.counts_of(kKeyCounts))
        .set_max_total_seq_len_q(p.q_BLNK.size(0) * p.q_BLNK.size(1))
        .set_max_total_seq_len_kv(p.k_BMNK.size(0) * p.k_BMNK.size(1));
  }
  auto [dq, dk, dv] = graph_->sdpa_backward(
      d.input(kQ, p.q_BLNK, true), d.input(kK, p.k_BMNK, false), d.input(kV, p.v_BMNK, false),
      d.input(kOut, p.out_BLNK, true), d.input(kGradOut, p.dout_BLNK, true), d.lse(), options);
  d.output(dq, kGradQ, p.dq_BLNK, true);
  d.output(dk, kGradK, p.dk_BMNK, false);
  d.output(dv, kGradV, p.dv_BMNK, false);
}

void CudnnPlan::build() {
  cudnnHandle_t handle = at::native::getCudnnHandle();
  check(graph_->validate(), "describing to cuDNN", text_);
  check(graph_->build_operation_graph(handle), "building cuDNN's graph", text_);
  check(graph_->create_execution_plans({fe::HeurMode_t::A}), "asking cuDNN for a plan", text_);
  check(graph_->check_support(), "asking cuDNN for support", text_);
  check(graph_->build_plans(), "building cuDNN's plan", text_);
  check(graph_->get_workspace_size(workspace_bytes_), "asking for cuDNN's workspace", text_);
}

void CudnnPlan::run(const CudnnProblem& p) const {
  std::unordered_map<std::int64_t, void*> pointers;
  for (const Operand& o : operands(p)) pointers[o.uid] = o.tensor->data_ptr();
  pointers[kStats] = p.lse.data_ptr();
  for (const auto& [uid, values] : tables_) pointers[uid] = values.data_ptr();
  at::Tensor bias;
  if (p.key_bias_M.defined()) {
    bias = bias_for_queries(p);
    pointers[kBias] = bias.data_ptr();
  }
  const at::Tensor workspace = at::empty({workspace_bytes_}, p.q_BLNK.options().dtype(at::kByte));
  check(graph_->execute(at::native::getCudnnHandle(), pointers, workspace.mutable_data_ptr()),
        "running cuDNN", text_);
}

}  // namespace wam
