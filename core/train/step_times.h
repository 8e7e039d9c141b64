#pragma once

#include <cstddef>

namespace wam {

// Why what computes waits for the communication of its strategy. The last three are outside of
// forward and backward.
enum class WaitCause : std::size_t { kGather, kReduce, kShareWeights, kSumNorms, kSumLosses };
inline constexpr std::size_t kNumWaitCauses = 5;

// Where the time of a step went, in seconds. The parts exclude each other and add up to step_s.
struct StepTimes {
  double step_s = 0;  // from the end of the step before, without validation
  double forward_backward_s = 0;
  double encode_s = 0;          // frozen encoders
  double update_s = 0;          // gradient norm, optimizer
  double exposed_gather_s = 0;  // nothing computed until weights had come
  double exposed_reduce_s = 0;  // nothing computed until gradients, norms or losses were summed
  double data_wait_s = 0;       // nothing to compute until the loader had a batch
  double checkpoint_s = 0;      // nothing computed until a checkpoint let go
  double other_s = 0;
};

}  // namespace wam
