#include "core/ops/adamw/adamw_host.h"

#include "core/base/errors.h"
#include "core/base/parallel.h"
#include "core/ops/adamw/adamw_host_range.h"

namespace wam {
namespace {

// What a thread takes at once: little enough that threads end together, and 64 KiB of each array.
constexpr std::int64_t kElementsAtOnce = 16 * 1024;

#ifdef __x86_64__
constexpr CodeForms<AdamWRange> kForms{adamw_range_scalar, adamw_range_avx2, adamw_range_avx512};
#else
constexpr CodeForms<AdamWRange> kForms{adamw_range_scalar};
#endif

}  // namespace

void adamw_update_host(const AdamWUpdateArguments& arguments,
                       WorkerPool& workers,
                       InstructionSet set) {
  AdamWRange* const update = kForms.of(set);
  for_each_piece(
      arguments.numel, kElementsAtOnce, workers,
      [&](std::int64_t begin, std::int64_t length) { update(arguments, begin, begin + length); });
}

}  // namespace wam
