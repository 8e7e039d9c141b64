#include "core/ops/token_gather/token_gather.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include "core/base/errors.h"
#include "core/cuda/tensor_kernel.h"
#include "core/ops/token_gather/token_gather_kernel.h"
#include "core/ops/token_gather/token_gather_plain.h"

namespace wam {
namespace {

// (B, L, N, K) whose (N, K) lie together, as a kernel sees it.
TokenTensor token_tensor(const at::Tensor& x_BLNK, const char* name) {
  check_vector_rows(x_BLNK, name);
  invariant(x_BLNK.dim() == 4 && (x_BLNK.size(2) == 1 || x_BLNK.stride(2) == x_BLNK.size(3)),
            "the heads of a token lie apart");
  return {x_BLNK.data_ptr(), x_BLNK.stride(0), x_BLNK.stride(1)};
}

TokenSlotTable table_of(const TokenSlots& slots) {
  return {slots.token_T.const_data_ptr<std::int32_t>(),
          slots.first_L1.const_data_ptr<std::int32_t>(),
          slots.slot_T.const_data_ptr<std::int32_t>(), slots.slots(), slots.tokens()};
}

}  // namespace

TokenSlots token_slots(const std::vector<std::int64_t>& token_of_slot,
                       std::int64_t tokens,
                       at::Device device) {
  std::vector<std::int32_t> first(static_cast<std::size_t>(tokens) + 1, 0);
  for (const std::int64_t token : token_of_slot) ++first.at(static_cast<std::size_t>(token) + 1);
  for (std::size_t l = 1; l < first.size(); ++l) first[l] += first[l - 1];
  std::vector<std::int32_t> next(first.begin(), first.end() - 1);
  const std::vector<std::int32_t> token(token_of_slot.begin(), token_of_slot.end());
  std::vector<std::int32_t> slot(token_of_slot.size());
  for (std::size_t t = 0; t < token_of_slot.size(); ++t) {
    const auto own = static_cast<std::size_t>(token_of_slot[t]);
    slot[static_cast<std::size_t>(next[own]++)] = static_cast<std::int32_t>(t);
  }
  return {at::tensor(token, at::kInt).to(device), at::tensor(first, at::kInt).to(device),
          at::tensor(slot, at::kInt).to(device)};
}

at::Tensor gather_tokens(const at::Tensor& x_BLNK, const TokenSlots& slots) {
  if constexpr (kBuiltForCuda) {
    if (runs_kernel(x_BLNK)) {
      const at::Tensor out_BTNK = at::empty(
          {x_BLNK.size(0), slots.slots(), x_BLNK.size(2), x_BLNK.size(3)}, x_BLNK.options());
      gather_tokens_cuda(token_tensor(out_BTNK, "out"), token_tensor(x_BLNK, "x"), table_of(slots),
                         x_BLNK.size(0), x_BLNK.size(2) * x_BLNK.size(3), element_of(x_BLNK),
                         current_stream());
      return out_BTNK;
    }
  }
  return gather_tokens_plain(x_BLNK, slots);
}

void sum_slots(const at::Tensor& y_BTNK, const TokenSlots& slots, const at::Tensor& out_BLNK) {
  if constexpr (kBuiltForCuda) {
    if (runs_kernel(y_BTNK)) {
      invariant(y_BTNK.scalar_type() == out_BLNK.scalar_type(), "sum_slots between two types");
      sum_slots_cuda(token_tensor(out_BLNK, "out"), token_tensor(y_BTNK, "y"), table_of(slots),
                     y_BTNK.size(0), y_BTNK.size(2) * y_BTNK.size(3), element_of(y_BTNK),
                     current_stream());
      return;
    }
  }
  sum_slots_plain(y_BTNK, slots, out_BLNK);
}

}  // namespace wam
