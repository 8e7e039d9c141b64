#include "apps/wamtrain/bench/timeline.h"

#include <algorithm>

namespace wam {
namespace {

// A part of a name, and what it means. The first that is found counts: the more special names stand
// first. "aten::" are LibTorch's operations on the CPU.
struct Mark {
  std::string_view part;
  KernelClass kind;
};
constexpr Mark kMarks[] = {
    // clang-format off
    {"sdpa", KernelClass::kAttention},
    {"flash", KernelClass::kAttention},
    {"fmha", KernelClass::kAttention},
    {"attention", KernelClass::kAttention},
    {"dot_do_o", KernelClass::kAttention},
    {"convert_dq", KernelClass::kAttention},
    {"matmul_dq", KernelClass::kAttention},  // cuDNN's deterministic sum of the parts of dq
    {"qkv_tma_setup", KernelClass::kAttention},
    {"normalise_runs", KernelClass::kNorm},
    {"position_per_lanes", KernelClass::kNorm},
    {"layer_norm", KernelClass::kNorm},
    {"token_per_block", KernelClass::kQkNorm},
    {"vectors_per_thread_forward", KernelClass::kGelu},
    {"slab_per_block_backward", KernelClass::kGelu},
    {"Gelu", KernelClass::kGelu},
    {"aten::gelu", KernelClass::kGelu},
    {"add_gated", KernelClass::kGatedResidual},
    {"gather_vector_per_thread", KernelClass::kGather},
    {"sum_vector_per_thread", KernelClass::kGather},
    {"columns_per_block", KernelClass::kRowSum},
    {"slab_per_block_sum", KernelClass::kColumnSum},
    {"add_partials", KernelClass::kColumnSum},
    {"update_two_vectors", KernelClass::kOptimizer},
    {"decide_unit", KernelClass::kOptimizer},
    {"adamw", KernelClass::kOptimizer},
    {"square_sum", KernelClass::kSquareSum},
    {"add_pieces_segment", KernelClass::kSquareSum},
    {"_luma", KernelClass::kPictures},
    {"write_pictures", KernelClass::kPictures},
    {"rows_from_tile", KernelClass::kConvolution},
    {"fprop", KernelClass::kConvolution},
    {"dgrad", KernelClass::kConvolution},
    {"conv", KernelClass::kConvolution},
    {"nhwc", KernelClass::kConvolution},
    {"nchw", KernelClass::kConvolution},
    {"nvjet", KernelClass::kMatrix},
    {"gemm", KernelClass::kMatrix},
    {"gemv", KernelClass::kMatrix},
    {"cutlass", KernelClass::kMatrix},
    {"xmma", KernelClass::kMatrix},
    {"splitK", KernelClass::kMatrix},
    {"cublas", KernelClass::kMatrix},
    {"aten::mm", KernelClass::kMatrix},
    {"aten::bmm", KernelClass::kMatrix},
    {"aten::addmm", KernelClass::kMatrix},
    {"aten::baddbmm", KernelClass::kMatrix},
    {"Memcpy", KernelClass::kElementwise},
    {"Memset", KernelClass::kElementwise},
    {"elementwise", KernelClass::kElementwise},
    {"reduce_kernel", KernelClass::kElementwise},
    {"CatArray", KernelClass::kElementwise},
    {"at::native", KernelClass::kElementwise},
    {"aten::", KernelClass::kElementwise},
    // clang-format on
};

bool is_memory_operation(std::string_view name) {
  return name.starts_with("Memcpy") || name.starts_with("Memset");
}

double ms_of(const DeviceEvent& event) {
  return 1e-6 * static_cast<double>(event.end_ns - event.start_ns);
}

void erase_all(std::string& text, std::string_view part) {
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at)) {
    text.erase(at, part.size());
  }
}

}  // namespace

KernelClass class_of(std::string_view kernel) {
  for (const Mark& mark : kMarks) {
    if (kernel.find(mark.part) != std::string_view::npos) return mark.kind;
  }
  return KernelClass::kOther;
}

std::string readable_kernel(std::string name) {
  erase_all(name, "(anonymous namespace)::");
  erase_all(name, "wam::");
  if (name.starts_with("void ")) name.erase(0, 5);
  // The arguments begin at the first parenthesis outside of template arguments. Copies have no
  // arguments: "Memcpy DtoH (Device -> Pinned)".
  int depth = 0;
  for (std::size_t i = 1; i < name.size(); ++i) {
    if (name[i] == '<') ++depth;
    if (name[i] == '>') --depth;
    if (name[i] == '(' && name[i - 1] != ' ' && depth == 0) return name.substr(0, i);
  }
  return name;
}

double Timeline::idle_share() const {
  if (events.empty()) return 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> spans;
  spans.reserve(events.size());
  for (const DeviceEvent& event : events) spans.emplace_back(event.start_ns, event.end_ns);
  std::sort(spans.begin(), spans.end());
  std::int64_t busy = 0;
  std::int64_t until = spans.front().first;
  for (const auto& [start, end] : spans) {
    if (end <= until) continue;
    busy += end - std::max(start, until);
    until = end;
  }
  const std::int64_t whole = until - spans.front().first;
  return whole <= 0 ? 0 : 1 - static_cast<double>(busy) / static_cast<double>(whole);
}

std::map<KernelClass, double> Timeline::ms_by_class() const {
  std::map<KernelClass, double> out;
  for (const DeviceEvent& event : events) out[class_of(event.name)] += ms_of(event);
  return out;
}

std::vector<KernelLine> Timeline::kernels(std::int64_t steps) const {
  std::map<std::string, KernelLine> by_name;
  const auto per_step = 1 / static_cast<double>(steps);
  for (const DeviceEvent& event : events) {
    KernelLine& line = by_name[event.name];
    if (event.is_start) line.launches += per_step;
    line.ms += per_step * ms_of(event);
  }
  std::vector<KernelLine> out;
  for (auto& [name, line] : by_name) {
    line.name = readable_kernel(name);
    out.push_back(std::move(line));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.ms > b.ms; });
  return out;
}

std::int64_t Timeline::launches() const {
  return std::count_if(events.begin(), events.end(),
                       [](const auto& event) { return !is_memory_operation(event.name); });
}

}  // namespace wam
