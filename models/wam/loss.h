#pragma once

#include "core/train/model.h"
#include "models/wam/flow_matching.h"
#include "models/wam/head.h"

namespace wam {

// Sums over samples, in the accumulate type, of
//   video:  mean over frames of w(t) * mean over channels, rows and columns of (prediction -
//           target)^2; the target is cut to the prediction's rows and columns;
//   action: mean over actions of w(t) * 1/A * sum over real action values of (prediction -
//           target)^2, with A the padded width; zero for a sample without real actions;
//   loss:   their sum.
// Source: DreamZero wan_flow_matching_action_tf.py @ ab790c1, with the gate of has_real_action per
//         sample, so that the loss of a batch is the sum of the losses of its samples.
// action_mask (B, P, A) and has_real_action (B) of any type. Without actions in `output` the action
// loss is zero.
Losses flow_losses(const DitOutput& output,
                   const Mixed& mixed,
                   const at::Tensor& action_mask_BPA,
                   const at::Tensor& has_real_action_B);

}  // namespace wam
