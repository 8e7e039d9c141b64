#pragma once

#include "core/ops/adamw/adamw.h"

namespace wam {

// The plain twins of adamw_decide and adamw_update, for any type of state.
void adamw_decide_plain(const UpdateResult& result,
                        const at::Tensor& first_tensor,
                        const AdamWControl& control,
                        const AdamWOptions& options);
void adamw_update_plain(const AdamWShard& shard,
                        const AdamWControl& control,
                        const AdamWOptions& options);

}  // namespace wam
