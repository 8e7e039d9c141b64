#include "parallel/watch/judge.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "core/base/errors.h"
#include "core/base/format.h"
#include "core/base/names.h"

namespace wam {
namespace {

using std::chrono::milliseconds;
using Records = std::vector<RankRecord>;

constexpr std::size_t kShownRanks = 8;

double seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

std::string name_of_rank(const RankRecord& record) {
  return wam::name_of_rank(record.rank, record.host);
}

// "rank 2 (b)", "ranks 2 (b), 3 (b) and 14 more".
std::string name_ranks(const Records& records, const std::vector<int>& ranks) {
  if (ranks.size() == 1) return name_of_rank(records[static_cast<std::size_t>(ranks.front())]);
  std::vector<std::string> names;
  for (const int rank : ranks) {
    if (names.size() == kShownRanks) break;
    const std::string& host = records[static_cast<std::size_t>(rank)].host;
    names.push_back(host.empty() ? std::to_string(rank) : fmt::format("{} ({})", rank, host));
  }
  std::string text = "ranks " + join(names);
  if (ranks.size() > names.size()) text += fmt::format(" and {} more", ranks.size() - names.size());
  return text;
}

template <class Condition>
std::vector<int> ranks_where(const Records& records, Condition condition) {
  std::vector<int> out;
  for (const RankRecord& record : records) {
    if (condition(record)) out.push_back(record.rank);
  }
  return out;
}

std::vector<int> ranks_with(const Records& records, Failure::Kind kind) {
  return ranks_where(records,
                     [&](const RankRecord& r) { return r.failure && r.failure->kind == kind; });
}

const RankRecord& at(const Records& records, int rank) {
  return records[static_cast<std::size_t>(rank)];
}

// The first two ranks for which `key` is the same and `value` is not. Records without a key are not
// compared.
template <class Key, class Value>
std::optional<std::pair<int, int>> find_pair(const Records& records, Key key, Value value) {
  std::map<std::uint64_t, const RankRecord*> first;
  for (const RankRecord& record : records) {
    const std::optional<std::uint64_t> k = key(record);
    if (!k) continue;
    const RankRecord& other = *first.emplace(*k, &record).first->second;
    if (value(other) != value(record)) return std::pair{other.rank, record.rank};
  }
  return std::nullopt;
}

std::optional<std::uint64_t> sequence_of(const RankRecord& record) {
  const auto& in_hand = record.progress.in_hand;
  if (!in_hand || in_hand->call.view().operation.empty()) return std::nullopt;
  return in_hand->sequence;
}

std::optional<std::uint64_t> step_of(const RankRecord& record) {
  const StepMark& mark = record.progress.mark;
  return mark.step > 0 ? std::optional(static_cast<std::uint64_t>(mark.step)) : std::nullopt;
}

Verdict mismatch(const RankRecord& a, const RankRecord& b, const std::string& what) {
  return {.text = what + ". All ranks must issue the same ones: this is a bug of wamtrain",
          .culprits = {a.rank, b.rank}};
}

// "rank 2 (b) has", "ranks 2 (b), 3 (b) have", and what follows.
std::string have_not_moved(const Records& records, const std::vector<int>& ranks, double seconds) {
  return fmt::format("{} {} not moved for {}", name_ranks(records, ranks),
                     ranks.size() == 1 ? "has" : "have", human_seconds(seconds));
}

// A rank that is in no collective keeps the others waiting.
Verdict idle_rank(const Records& records,
                  const std::vector<int>& idle,
                  const std::vector<int>& waiting) {
  const RankRecord& first = at(records, idle.front());
  std::string text = have_not_moved(records, idle, first.still_s) + ": " + position(first.progress);
  if (!waiting.empty()) {
    text += fmt::format(". Waiting for it: {} in {}", name_ranks(records, waiting),
                        describe(*at(records, waiting.front()).progress.in_hand));
  }
  return {.text = text, .culprits = idle};
}

// All ranks are in collectives.
Verdict waiting_ranks(const Records& records, const std::vector<int>& waiting) {
  const auto sequence = [&](int rank) { return at(records, rank).progress.in_hand->sequence; };
  const auto [behind, ahead] = std::minmax_element(
      waiting.begin(), waiting.end(), [&](int a, int b) { return sequence(a) < sequence(b); });
  std::vector<int> last;
  std::copy_if(waiting.begin(), waiting.end(), std::back_inserter(last),
               [&, lowest = sequence(*behind)](int rank) { return sequence(rank) == lowest; });
  const RankRecord& first = at(records, last.front());
  std::string text = have_not_moved(records, last, first.still_s);
  text += sequence(*behind) == sequence(*ahead)
              ? ", each waiting for the others (a device or a link hangs): "
              : ", behind the others: ";
  return {.text = text + position(first.progress), .culprits = last};
}

}  // namespace

std::optional<Verdict> find_mismatch(const Records& records) {
  const auto call = [](const RankRecord& r) { return r.progress.in_hand->call.hash(); };
  if (const auto pair = find_pair(records, sequence_of, call)) {
    const RankRecord& a = at(records, pair->first);
    const RankRecord& b = at(records, pair->second);
    return mismatch(
        a, b,
        fmt::format("the ranks are in different collectives: {} in {}; {} in {}", name_of_rank(a),
                    describe(*a.progress.in_hand), name_of_rank(b), describe(*b.progress.in_hand)));
  }
  const auto way = [](const RankRecord& r) {
    return std::pair(r.progress.mark.issued, r.progress.mark.signature);
  };
  const auto pair = find_pair(records, step_of, way);
  if (!pair) return std::nullopt;
  const RankRecord& a = at(records, pair->first);
  const RankRecord& b = at(records, pair->second);
  const auto [x, y] = std::pair(a.progress.mark.issued, b.progress.mark.issued);
  return mismatch(a, b,
                  fmt::format("before step {}, {} and {} issued {}", a.progress.mark.step,
                              name_of_rank(a), name_of_rank(b),
                              x == y ? fmt::format("{} collectives each, which are not the same", x)
                                     : fmt::format("{} and {} collectives", x, y)));
}

Judge::Judge(int world_size, WatchLimits limits, TimePoint start)
    : limits_(limits),
      last_call_(start),
      heard_(static_cast<std::size_t>(world_size), Heard{.beat = 0, .at = start}) {}

void Judge::listen(const Records& records, TimePoint now) {
  // This process did not run for a while: what the others did meanwhile is not known.
  const bool paused = now - last_call_ > limits_.silence / 2;
  last_call_ = now;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (paused || records[i].beat != heard_[i].beat) heard_[i] = {records[i].beat, now};
  }
}

std::vector<int> Judge::silent_for(const Records& records,
                                   milliseconds limit,
                                   TimePoint now) const {
  return ranks_where(records, [&](const RankRecord& record) {
    return !record.left && now - heard_[static_cast<std::size_t>(record.rank)].at >= limit;
  });
}

Verdict Judge::death(const Records& records, const std::vector<int>& ranks, TimePoint now) const {
  const RankRecord& first = at(records, ranks.front());
  const double silence = seconds(now - heard_[static_cast<std::size_t>(first.rank)].at);
  std::string text = fmt::format(
      "{} {} not been heard for {}: the process died, or its host hangs or cannot be reached",
      name_ranks(records, ranks), ranks.size() == 1 ? "has" : "have", human_seconds(silence));
  if (!first.host.empty()) {
    text += fmt::format(". The last word of rank {}: {}", first.rank, position(first.progress));
  }
  return {.text = text, .culprits = ranks, .silent = true};
}

std::optional<Verdict> Judge::judge_failures(const Records& records, TimePoint now) {
  const auto failed = ranks_with(records, Failure::Kind::kCollective);
  if (failed.empty()) return std::nullopt;
  if (!first_failure_seen_) first_failure_seen_ = now;
  if (now - *first_failure_seen_ < limits_.doubt) return std::nullopt;
  const auto silent = silent_for(records, limits_.doubt, now);
  if (!silent.empty()) return death(records, silent, now);
  const RankRecord& first = at(records, failed.front());
  return Verdict{.text = fmt::format(
                     "a collective failed on {} at {}, and every rank is still there: {}",
                     name_ranks(records, failed), position(first.progress), first.failure->text),
                 .culprits = failed};
}

// All ranks depend on each other, so when one hangs the others stand still in collectives that wait
// for it: the one to name is the one that is in none, or furthest behind.
std::optional<Verdict> Judge::judge_hang(const Records& records) const {
  const double limit = seconds(limits_.still);
  const auto at_work = [](const RankRecord& r) {
    return !r.left && r.progress.phase != Phase::kLeaving;
  };
  const auto still =
      ranks_where(records, [&](const RankRecord& r) { return at_work(r) && r.still_s >= limit; });
  // As long as one moves the others may be waiting for what it does, and preparing a run takes what
  // it takes. Half of the limit: they may have begun to wait before it began to hang.
  const auto moving = ranks_where(records, [&](const RankRecord& r) {
    const bool prepares = r.progress.phase == Phase::kStarting && !r.progress.in_hand;
    return at_work(r) && (prepares || r.still_s < limit / 2);
  });
  if (still.empty() || !moving.empty()) return std::nullopt;
  const auto idle =
      ranks_where(records, [&](const RankRecord& r) { return at_work(r) && !r.progress.in_hand; });
  const auto waiting =
      ranks_where(records, [&](const RankRecord& r) { return at_work(r) && r.progress.in_hand; });
  return idle.empty() ? waiting_ranks(records, waiting) : idle_rank(records, idle, waiting);
}

std::optional<Verdict> Judge::judge(const Records& records, TimePoint now) {
  listen(records, now);
  if (const auto ended = ranks_with(records, Failure::Kind::kOwn); !ended.empty()) {
    const RankRecord& first = at(records, ended.front());
    std::string text =
        fmt::format("{} ended with an error at {}", name_of_rank(first), position(first.progress));
    if (ended.size() > 1) text += fmt::format(" (and {} others)", ended.size() - 1);
    return Verdict{.text = text,
                   .culprits = ended,
                   .error = first.failure->text,
                   .exit_code = first.failure->exit_code};
  }
  if (const auto silent = silent_for(records, limits_.silence, now); !silent.empty()) {
    return death(records, silent, now);
  }
  if (auto mismatch = find_mismatch(records)) return mismatch;
  if (auto failure = judge_failures(records, now)) return failure;
  return judge_hang(records);
}

}  // namespace wam
