#include "core/ops/adamw/adamw_host.h"

#include "core/base/errors.h"
#include "core/base/parallel.h"
#include "core/ops/adamw/adamw_host_range.h"

namespace wam {
namespace {

// What a thread takes at once: little enough that threads end together, and 64 KiB of each array.
constexpr std::int64_t kElementsAtOnce = 16 * 1024;

AdamWRange* range_of(InstructionSet set) {
  switch (set) {
    case InstructionSet::kScalar:
      return adamw_range_scalar;
#ifdef __x86_64__
    case InstructionSet::kAvx2:
      return adamw_range_avx2;
    case InstructionSet::kAvx512:
      return adamw_range_avx512;
#else
    default:
      break;
#endif
  }
  throw InvariantError("an instruction set without code");
}

}  // namespace

void adamw_update_host(const AdamWUpdateArguments& arguments,
                       WorkerPool& workers,
                       InstructionSet set) {
  invariant(has_instruction_set(set), "code for another processor");
  AdamWRange* const update = range_of(set);
  for_each_piece(
      arguments.numel, kElementsAtOnce, workers,
      [&](std::int64_t begin, std::int64_t length) { update(arguments, begin, begin + length); });
}

}  // namespace wam
