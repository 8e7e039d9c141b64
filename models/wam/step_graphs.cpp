#include "models/wam/step_graphs.h"

#include <optional>

#include <ATen/ops/empty_like.h>

#include "core/base/errors.h"

namespace wam {
namespace {

// Every tensor that a step reads, in one order.
std::vector<at::Tensor*> tensors_of(EncodedBatch& b, Draws& d) {
  return {&b.latent_BCFYX, &b.condition_BCFYX, &b.text_BMD,        &b.clip_BMD,
          &b.state_BNS,    &b.action_BPA,      &b.action_mask_BPA, &b.has_real_action_B,
          &d.noise_BCFYX,  &d.noise_BPA,       &d.level_BR,        &d.level_BP};
}

bool same_form(const at::Tensor& a, const at::Tensor& b) {
  if (a.defined() != b.defined()) return false;
  return !a.defined() || (a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type());
}

}  // namespace

// The tensors of one graph: what it reads, what it leaves, and itself.
struct StepGraphs::Entry {
  Sharding* sharding = nullptr;
  int micro_step_kind = 0;
  EncodedBatch batch;
  Draws draws;
  at::Tensor weight;
  Losses losses;
  std::optional<DeviceGraph> graph;

  [[nodiscard]] bool fits(EncodedBatch& other_batch, Draws& other_draws, const Sharding* other) {
    const auto own = tensors_of(batch, draws);
    const auto theirs = tensors_of(other_batch, other_draws);
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (!same_form(*own[i], *theirs[i])) return false;
    }
    return sharding == other && micro_step_kind == other->micro_step_kind();
  }

  void copy_in(EncodedBatch& from_batch, Draws& from_draws) {
    const auto own = tensors_of(batch, draws);
    const auto theirs = tensors_of(from_batch, from_draws);
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (own[i]->defined()) own[i]->copy_(*theirs[i], /*non_blocking=*/true);
    }
  }
};

StepGraphs::StepGraphs(Dit& dit,
                       const FlowSchedule& schedule,
                       at::Device device,
                       GraphObserver* observer)
    : dit_(dit), schedule_(schedule), pool_(device, observer) {}
StepGraphs::~StepGraphs() = default;

StepGraphs::Entry* StepGraphs::find(const EncodedBatch& batch,
                                    const Draws& draws,
                                    Sharding& sharding) {
  EncodedBatch batch_view = batch;
  Draws draws_view = draws;
  for (const auto& entry : entries_) {
    if (entry->fits(batch_view, draws_view, &sharding)) return entry.get();
  }
  return nullptr;
}

StepGraphs::Entry& StepGraphs::record(const EncodedBatch& batch,
                                      const Draws& draws,
                                      Sharding& sharding) {
  EncodedBatch batch_view = batch;
  Draws draws_view = draws;
  require<InvariantError>(!complete_,
                          "a step of {} samples and {} text rows that was not rehearsed with the "
                          "other ranks",
                          batch.latent_BCFYX.size(0), batch.text_BMD.size(1));
  require<ConfigError>(entries_.size() < kMaxGraphs,
                       "a training step of {} samples and {} text rows would be the {}th shape to "
                       "be recorded as a CUDA graph, more than {}. Fix: set run.graphs=off",
                       batch.latent_BCFYX.size(0), batch.text_BMD.size(1), entries_.size() + 1,
                       kMaxGraphs);
  auto entry = std::make_unique<Entry>();
  Entry& e = *entry;
  e.sharding = &sharding;
  e.micro_step_kind = sharding.micro_step_kind();
  const auto own = tensors_of(e.batch, e.draws);
  const auto theirs = tensors_of(batch_view, draws_view);
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (theirs[i]->defined()) *own[i] = at::empty_like(*theirs[i]);
  }
  // With a weight of zero the warm-up adds zeros to the gradients, which changes no bit of them.
  e.weight = loss_weight(0.0, batch.text_BMD);
  e.losses = {e.weight.clone(), e.weight.clone(), e.weight.clone()};
  e.copy_in(batch_view, draws_view);
  e.graph.emplace(pool_, "the training step", [this, &e] {
    const Losses losses = training_step(dit_, e.batch, e.draws, schedule_, *e.sharding, e.weight);
    e.losses.loss.copy_(losses.loss);
    e.losses.video.copy_(losses.video);
    e.losses.action.copy_(losses.action);
  });
  return *entries_.emplace_back(std::move(entry));
}

Losses StepGraphs::run(const EncodedBatch& batch,
                       const Draws& draws,
                       Sharding& sharding,
                       double weight) {
  Entry* known = find(batch, draws, sharding);
  Entry& entry = known != nullptr ? *known : record(batch, draws, sharding);
  EncodedBatch batch_view = batch;
  Draws draws_view = draws;
  entry.copy_in(batch_view, draws_view);
  entry.weight.fill_(weight);
  entry.graph->replay();
  return entry.losses;
}

void StepGraphs::rehearse(const EncodedBatch& batch, const Draws& draws, Sharding& sharding) {
  Entry* known = find(batch, draws, sharding);
  if (known == nullptr) {
    record(batch, draws, sharding);
    return;
  }
  known->weight.fill_(0.0);
  for (int i = 0; i < DeviceGraph::kWarmUps; ++i) known->graph->replay();
}

}  // namespace wam
