#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/train/phase.h"

namespace wam {

// A collective as messages name it; all four are equal on all ranks. Texts are cut to 15, 15 and 47
// characters.
struct CollectiveCall {
  std::string_view operation;  // "all_gather"
  std::string_view axis;       // of the mesh: "shard"
  std::string_view purpose;    // "gather blocks.3"
  std::int64_t bytes = 0;
};

// A CollectiveCall that owns its texts, without memory of its own.
class StoredCall {
 public:
  StoredCall() = default;
  explicit StoredCall(const CollectiveCall& call) noexcept;
  [[nodiscard]] CollectiveCall view() const noexcept;
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }

 private:
  std::array<char, 16> operation_{}, axis_{};
  std::array<char, 48> purpose_{};
  std::int64_t bytes_ = 0;
  std::uint64_t hash_ = 0;
};

// The collectives of a recorded graph, in their order.
using RecordedCalls = std::vector<StoredCall>;

// What one rank has issued when it begins a step; equal on all ranks.
struct StepMark {
  std::int64_t step = 0;
  std::uint64_t issued = 0;
  std::uint64_t signature = 0;  // of all calls so far

  bool operator==(const StepMark&) const = default;
};

// The collective that a rank waits for.
struct InHand {
  std::uint64_t sequence = 0;
  StoredCall call = {};
  bool replayed = false;  // by a graph
};

struct ProgressState {
  Phase phase = Phase::kStarting;
  std::int64_t step = 0;
  std::int64_t micro_step = 0;
  std::uint64_t issued = 0;
  std::uint64_t completed = 0;
  std::optional<InHand> in_hand;  // nothing when all that were issued are complete
  std::uint64_t moves = 0;        // calls of `moved`
  StepMark mark;
};

// Where this rank stands: the phase, and its collectives, numbered from 1 in the order in which
// they are issued. All ranks of a run issue the same ones in the same order, over whichever axis,
// so the number of a collective is the same on all of them.
//
// Cheap: a lock that the watch takes once a second for some microseconds.
//
// Threads: one tells, any may call `moved` and `state`.
class Progress final : public PhaseObserver {
 public:
  void enter(Phase phase, std::int64_t step, std::int64_t micro_step) noexcept override;
  void moved() noexcept override;

  // Before a collective is issued; its number. While recording: noted for the graph, and 0.
  std::uint64_t begin(const CollectiveCall& call);
  // The host knows that this one, and all before it, are complete. Not needed where the device
  // counts (WatchOptions::completed). Nothing for 0.
  void end(std::uint64_t sequence) noexcept;

  // Between these two, while a graph is being captured, `begin` collects and issues nothing.
  void begin_recording();
  std::shared_ptr<const RecordedCalls> end_recording();
  // Before a replay: issues all collectives of the graph.
  void replay(std::shared_ptr<const RecordedCalls> calls);

  // `device_completed`: how many collectives the device has counted, where it does.
  [[nodiscard]] ProgressState state(std::uint64_t device_completed) const;

 private:
  // Consecutive numbers: one collective, or all of a replay.
  struct Span {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    StoredCall call;
    std::shared_ptr<const RecordedCalls> calls;
  };
  static constexpr std::size_t kSpans = 4096;

  void issue(Span span, std::uint64_t signature);
  [[nodiscard]] std::optional<InHand> find(std::uint64_t sequence) const;

  mutable std::mutex mutex_;
  Phase phase_ = Phase::kStarting;
  std::int64_t step_ = 0;
  std::int64_t micro_step_ = 0;
  std::uint64_t issued_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t signature_ = 0;
  std::uint64_t moves_ = 0;
  StepMark mark_;
  std::vector<Span> spans_ = std::vector<Span>(kSpans);  // a ring: the last ones issued
  std::uint64_t num_spans_ = 0;                          // since the start
  std::optional<RecordedCalls> recording_;
};

}  // namespace wam
