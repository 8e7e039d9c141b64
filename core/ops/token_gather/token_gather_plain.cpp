#include "core/ops/token_gather/token_gather_plain.h"

#include <ATen/ops/zeros.h>

#include "core/ops/parameter.h"

namespace wam {

at::Tensor gather_tokens_plain(const at::Tensor& x_BLNK, const TokenSlots& slots) {
  return x_BLNK.index_select(1, slots.token_T);
}

void sum_slots_plain(const at::Tensor& y_BTNK,
                     const TokenSlots& slots,
                     const at::Tensor& out_BLNK) {
  const auto wide = accumulate_type(y_BTNK.scalar_type());
  at::Tensor sum_BLNK = at::zeros(out_BLNK.sizes(), y_BTNK.options().dtype(wide));
  sum_BLNK.index_add_(1, slots.token_T, y_BTNK.to(wide));
  out_BLNK.copy_(sum_BLNK);
}

}  // namespace wam
