#include "parallel/estimate/overlap.h"

#include <algorithm>
#include <cstddef>

#include "parallel/estimate/memory.h"
#include "parallel/estimate/traffic.h"

namespace wam {
namespace {

// Of this rank's shard, where it lies in host memory.
double upload_s(const UnitLoad& unit, const Spread& spread, const LinkRates& links) {
  if (!spread.weights_on_host || unit.held_throughout) return 0;
  const auto bytes = static_cast<double>(unit.trainable_numel * spread.compute_bytes);
  return bytes / static_cast<double>(spread.shard_size) / (1e9 * links.host_gb_s);
}

double gather_s(const UnitLoad& unit, const Spread& spread, const LinkRates& links) {
  return collective_s(CollectiveKind::kAllGather,
                      static_cast<double>(unit.trainable_numel * spread.compute_bytes),
                      spread.shard_group(), links);
}

// Inside the shard group; in the last micro-step over the replicas as well.
double reduce_s(const UnitLoad& unit, const Spread& spread, const LinkRates& links, bool is_last) {
  const auto bytes = static_cast<double>(unit.trainable_numel * spread.reduce_bytes);
  const double shards =
      collective_s(CollectiveKind::kReduceScatter, bytes, spread.shard_group(), links);
  if (!is_last) return shards;
  return shards + collective_s(CollectiveKind::kAllReduce,
                               bytes / static_cast<double>(spread.shard_size),
                               spread.replica_group(), links);
}

// One unit's forward or backward.
struct Work {
  const UnitLoad& unit;
  double compute_s;
  bool gathered;  // its weights, for this
  bool reduced;   // its gradient, after this
};

std::vector<Work> works_of(const std::vector<UnitLoad>& units, const Spread& spread, bool reduces) {
  const std::vector<int> gathers = fills_of_micro_step(units, spread);
  std::vector<Work> out;
  out.reserve(2 * units.size());
  for (std::size_t i = 0; i < units.size(); ++i) {
    out.push_back({units[i], units[i].forward_s, gathers[i] > 0, false});
  }
  for (std::size_t i = units.size(); i-- > 0;) {
    out.push_back({units[i], units[i].backward_s, gathers[i] > 1, reduces});
  }
  return out;
}

// Collectives one after the other, beneath the compute.
class CommunicationQueue {
 public:
  // Returns the time of its end. `upload_s` comes first: it keeps the queue, but nothing of
  // compute.
  double enqueue(double earliest, double seconds, double upload_s = 0) {
    end_s_ = std::max(end_s_, earliest) + upload_s + seconds;
    busy_s_ += seconds;
    return end_s_;
  }
  [[nodiscard]] double end_s() const noexcept { return end_s_; }
  [[nodiscard]] double busy_s() const noexcept { return busy_s_; }

 private:
  double end_s_ = 0;
  double busy_s_ = 0;
};

// From an idle device to an idle device.
StepCommunication micro_step(const std::vector<UnitLoad>& units,
                             const Spread& spread,
                             const LinkRates& links,
                             bool is_last) {
  const std::vector<Work> works = works_of(units, spread, is_last || spread.reduces_each);
  CommunicationQueue queue;
  std::vector<double> reduced_s;  // when the gradient slots of the blocks became free
  const auto fill = [&](double earliest, const UnitLoad& unit) {
    return queue.enqueue(earliest, gather_s(unit, spread, links), upload_s(unit, spread, links));
  };
  double ready_s = works.front().gathered ? fill(0, units[0]) : 0;
  double end_s = 0;
  double computed_s = 0;
  for (std::size_t k = 0; k < works.size(); ++k) {
    const Work& work = works[k];
    double start_s = std::max(end_s, ready_s);
    const bool in_slot = work.reduced && spread.reduces_each && !work.unit.held_throughout;
    if (in_slot && reduced_s.size() >= kUnitSlots) {
      start_s = std::max(start_s, reduced_s[reduced_s.size() - kUnitSlots]);
    }
    ready_s = 0;
    if (k + 1 < works.size() && works[k + 1].gathered) {
      ready_s = fill(start_s, works[k + 1].unit);
    }
    end_s = start_s + work.compute_s;
    computed_s += work.compute_s;
    if (!work.reduced) continue;
    const double reduced = queue.enqueue(end_s, reduce_s(work.unit, spread, links, is_last));
    if (in_slot) reduced_s.push_back(reduced);
  }
  return {.busy_s = queue.busy_s(), .waits_s = std::max(end_s, queue.end_s()) - computed_s};
}

}  // namespace

StepCommunication communication_of(const std::vector<UnitLoad>& units,
                                   const Spread& spread,
                                   std::int64_t micro_steps,
                                   const OverlapRates& rates) {
  StepCommunication out;
  const auto add = [&](std::int64_t count, bool is_last) {
    if (count == 0) return;
    const StepCommunication one = micro_step(units, spread, rates.links, is_last);
    out.busy_s += static_cast<double>(count) * one.busy_s;
    out.waits_s += static_cast<double>(count) * one.waits_s;
  };
  add(micro_steps - 1, false);
  add(1, true);
  for (const UnitLoad& unit : units) {
    if (!is_gathered_after_update(unit, spread)) continue;
    const double seconds = gather_s(unit, spread, rates.links);
    out.busy_s += seconds;
    out.waits_s += seconds;
  }
  out.exposed_s = out.waits_s + rates.overlap_cost * std::max(0.0, out.busy_s - out.waits_s);
  return out;
}

}  // namespace wam
