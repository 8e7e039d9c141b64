#include "parallel/watch/progress.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/errors.h"

namespace wam {
namespace {

// FNV-1a: short texts, and no need to withstand anybody.
constexpr std::uint64_t kHashStart = 14695981039346656037ULL;
constexpr std::uint64_t kHashPrime = 1099511628211ULL;

std::uint64_t mix(std::uint64_t hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * kHashPrime;
  return (hash ^ 0xffU) * kHashPrime;
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  return (hash ^ value ^ (value >> 32U)) * kHashPrime;
}

template <std::size_t N>
std::string_view copy(std::array<char, N>& out, std::string_view text) {
  const std::size_t size = std::min(text.size(), N - 1);
  std::memcpy(out.data(), text.data(), size);
  return {out.data(), size};
}

}  // namespace

StoredCall::StoredCall(const CollectiveCall& call) noexcept : bytes_(call.bytes) {
  hash_ = mix(kHashStart, copy(operation_, call.operation));
  hash_ = mix(hash_, copy(axis_, call.axis));
  hash_ = mix(hash_, copy(purpose_, call.purpose));
  hash_ = mix(hash_, static_cast<std::uint64_t>(bytes_));
}

CollectiveCall StoredCall::view() const noexcept {
  return {operation_.data(), axis_.data(), purpose_.data(), bytes_};
}

void Progress::enter(Phase phase, std::int64_t step, std::int64_t micro_step) noexcept {
  const std::lock_guard lock(mutex_);
  phase_ = phase;
  micro_step_ = micro_step;
  if (std::exchange(step_, step) != step) {
    mark_ = {.step = step, .issued = issued_, .signature = signature_};
  }
}

void Progress::moved() noexcept {
  const std::lock_guard lock(mutex_);
  ++moves_;
}

void Progress::issue(Span span, std::uint64_t signature) {
  span.first = issued_ + 1;
  issued_ += span.count;
  signature_ = signature;
  spans_[num_spans_++ % kSpans] = std::move(span);
}

std::uint64_t Progress::begin(const CollectiveCall& call) {
  const StoredCall stored(call);
  const std::lock_guard lock(mutex_);
  if (recording_) {
    recording_->push_back(stored);
    return 0;
  }
  issue({.count = 1, .call = stored, .calls = nullptr}, mix(signature_, stored.hash()));
  return issued_;
}

void Progress::end(std::uint64_t sequence) noexcept {
  const std::lock_guard lock(mutex_);
  completed_ = std::max(completed_, sequence);
}

void Progress::begin_recording() {
  const std::lock_guard lock(mutex_);
  invariant(!recording_, "one graph is recorded at a time");
  recording_.emplace();
}

std::shared_ptr<const RecordedCalls> Progress::end_recording() {
  const std::lock_guard lock(mutex_);
  invariant(recording_.has_value(), "no graph is being recorded");
  auto calls = std::make_shared<const RecordedCalls>(std::move(*recording_));
  recording_.reset();
  return calls;
}

void Progress::replay(std::shared_ptr<const RecordedCalls> calls) {
  const std::lock_guard lock(mutex_);
  if (calls->empty()) return;
  std::uint64_t signature = signature_;
  for (const StoredCall& call : *calls) signature = mix(signature, call.hash());
  const std::uint64_t count = calls->size();
  issue({.count = count, .call = {}, .calls = std::move(calls)}, signature);
}

std::optional<InHand> Progress::find(std::uint64_t sequence) const {
  const std::uint64_t kept = std::min<std::uint64_t>(num_spans_, kSpans);
  for (std::uint64_t i = num_spans_ - kept; i < num_spans_; ++i) {
    const Span& span = spans_[i % kSpans];
    if (sequence < span.first || sequence >= span.first + span.count) continue;
    const StoredCall& call = span.calls ? (*span.calls)[sequence - span.first] : span.call;
    return InHand{.sequence = sequence, .call = call, .replayed = span.calls != nullptr};
  }
  return std::nullopt;
}

ProgressState Progress::state(std::uint64_t device_completed) const {
  const std::lock_guard lock(mutex_);
  ProgressState out{.phase = phase_,
                    .step = step_,
                    .micro_step = micro_step_,
                    .issued = issued_,
                    .completed = std::min(issued_, std::max(completed_, device_completed)),
                    .in_hand = {},
                    .moves = moves_,
                    .mark = mark_};
  if (out.completed < out.issued) {
    out.in_hand = find(out.completed + 1);
    // Longer ago than this rank remembers; still it waits.
    if (!out.in_hand) out.in_hand = InHand{.sequence = out.completed + 1};
  }
  return out;
}

}  // namespace wam
