#include "parallel/launch/rendezvous.h"

#include <algorithm>
#include <future>
#include <memory>
#include <random>
#include <thread>

#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "core/base/errors.h"
#include "parallel/launch/addresses.h"
#include "parallel/launch/meeting_file.h"
#include "parallel/launch/rank_words.h"

namespace wam {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using StorePointer = c10::intrusive_ptr<c10d::Store>;

constexpr milliseconds kPollInterval{100};
constexpr milliseconds kConnectLimit{1000};
// For the first words of a store; something else that listens at the port says none.
constexpr milliseconds kGreetingLimit{5000};
// For telling the others who is missing, after the limit.
constexpr milliseconds kGrace{2000};
constexpr const char* kVerdictKey = "verdict";
constexpr const char* kHeardKey = "heard";
constexpr const char* kAll = "all";

std::string arrival_key(int rank) {
  return fmt::format("arrived/{}", rank);
}

std::string token_key(const std::string& token) {
  return "token/" + token;
}

std::string random_token() {
  std::random_device source;
  return fmt::format("{:08x}{:08x}", source(), source());
}

// Nothing when what listens there does not greet as a store does. c10d's constructor waits for that
// greeting without a limit, so a helper does, and is left behind when none comes.
StorePointer connect(const std::string& address, const c10d::TCPStoreOptions& options) {
  auto promise = std::make_shared<std::promise<StorePointer>>();
  auto result = promise->get_future();
  std::thread([promise, address, options] {
    try {
      promise->set_value(c10::make_intrusive<c10d::TCPStore>(address, options));
    } catch (...) {
      promise->set_exception(std::current_exception());
    }
  }).detach();
  if (result.wait_for(options.timeout) != std::future_status::ready) return {};
  return result.get();
}

// Removes the file when rank 0 is through, whatever the end.
class FileOfMeeting {
 public:
  explicit FileOfMeeting(std::filesystem::path path) : path_(std::move(path)) {}
  ~FileOfMeeting() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove(path_, ignored);
  }
  FileOfMeeting(const FileOfMeeting&) = delete;
  FileOfMeeting& operator=(const FileOfMeeting&) = delete;
  FileOfMeeting(FileOfMeeting&&) = delete;
  FileOfMeeting& operator=(FileOfMeeting&&) = delete;

 private:
  std::filesystem::path path_;
};

class Meeting {
 public:
  Meeting(const LaunchEnv& env, const RendezvousOptions& options)
      : env_(env), limit_(options.time_limit), deadline_(Clock::now() + options.time_limit) {
    if (!env.master) file_ = meeting_file(options.run_dir, env);
  }

  StorePointer run();

 private:
  // Not 0, which c10d takes for no limit.
  [[nodiscard]] milliseconds remaining() const {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline_ - Clock::now());
    return std::max(left, milliseconds{1});
  }
  [[nodiscard]] bool is_over() const { return Clock::now() >= deadline_; }
  [[noreturn]] void fail(const std::string& what) const;
  [[nodiscard]] std::string absence(const std::string& ranks) const {
    return fmt::format("{} did not arrive within {:g} s", ranks,
                       static_cast<double>(limit_.count()) / 1000);
  }

  StorePointer open_store();
  StorePointer join_store();
  StorePointer try_join(const MeetingPoint& point);
  void arrive(c10d::Store& store) const;
  bool wait_for(c10d::Store& store, const std::vector<std::string>& keys, milliseconds grace) const;
  void wait_for_all(c10d::Store& store) const;
  void wait_for_verdict(c10d::Store& store) const;
  [[nodiscard]] std::vector<int> missing_ranks(c10d::Store& store) const;

  const LaunchEnv& env_;
  milliseconds limit_;
  Clock::time_point deadline_;
  std::filesystem::path file_;  // empty: at MASTER_ADDR
  std::string where_ = "no address yet";
};

void Meeting::fail(const std::string& what) const {
  const std::string at =
      file_.empty() ? where_ : fmt::format("{}, file {}", where_, file_.string());
  throw CommError(fmt::format(
      "rank {} of {} on {} meeting the others ({}; job '{}', attempt {}): {}. Fix: look for the "
      "first error in the output of the missing ranks; check that every host reaches rank 0's "
      "address{}.",
      env_.global_rank, env_.world_size, env_.host, at, env_.job_id, env_.attempt, what,
      file_.empty() ? "" : " and sees the run folder"));
}

StorePointer Meeting::open_store() {
  c10d::TCPStoreOptions options;
  options.isServer = true;
  options.waitWorkers = false;
  options.timeout = remaining();
  if (env_.master) {
    options.port = static_cast<std::uint16_t>(env_.master->port);
    where_ = fmt::format("{}:{}", env_.master->host, env_.master->port);
    try {
      return c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
    } catch (const c10::Error& error) {
      throw CommError(
          fmt::format("rank 0 on {} opening the meeting place at {}: {}. Fix: choose a MASTER_PORT "
                      "that is free on the host of rank 0.",
                      env_.host, where_, store_reason(error)));
    }
  }
  options.port = 0;
  const auto store = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
  const MeetingPoint point{
      .port = store->getPort(), .token = random_token(), .addresses = own_addresses()};
  where_ = fmt::format("{}:{}", point.addresses.front(), point.port);
  store->add(token_key(point.token), 1);
  publish(file_, point);
  return store;
}

// Nothing while rank 0 is not there.
StorePointer Meeting::try_join(const MeetingPoint& point) {
  for (const std::string& address : point.addresses) {
    if (!accepts_connections(address, point.port, std::min(kConnectLimit, remaining()))) continue;
    c10d::TCPStoreOptions options;
    options.port = static_cast<std::uint16_t>(point.port);
    options.waitWorkers = false;
    options.timeout = std::min(kGreetingLimit, remaining());
    try {
      auto store = connect(address, options);
      if (!store) continue;
      if (point.token.empty() || store->check({token_key(point.token)})) {
        where_ = fmt::format("rank 0 at {}:{}", address, point.port);
        store->setTimeout(limit_);
        return store;
      }
    } catch (const c10::Error&) {
      // Something else listens there, or rank 0 of an earlier start is just leaving.
      continue;
    }
  }
  return {};
}

StorePointer Meeting::join_store() {
  if (env_.master) where_ = fmt::format("rank 0 at {}:{}", env_.master->host, env_.master->port);
  std::string found;
  while (!is_over()) {
    std::optional<MeetingPoint> point;
    if (env_.master) {
      point =
          MeetingPoint{.port = env_.master->port, .token = {}, .addresses = {env_.master->host}};
    } else {
      point = find_meeting_point(file_);
    }
    if (point) {
      if (auto store = try_join(*point)) return store;
      found = fmt::format("{} port {}", join(point->addresses, " or "), point->port);
    }
    std::this_thread::sleep_for(std::min(kPollInterval, remaining()));
  }
  fail(absence("rank 0") + (found.empty() ? std::string(" (it has not written the file)")
                                          : fmt::format(" (nothing answers at {})", found)));
}

void Meeting::arrive(c10d::Store& store) const {
  if (store.add(arrival_key(env_.global_rank), 1) == 1) return;
  fail(fmt::format("another process is rank {} already: two starts share this meeting place",
                   env_.global_rank));
}

std::vector<int> Meeting::missing_ranks(c10d::Store& store) const {
  std::vector<int> missing;
  for (int rank = 0; rank < env_.world_size; ++rank) {
    if (!store.check({arrival_key(rank)})) missing.push_back(rank);
  }
  return missing;
}

// Asks again and again: c10d's own wait prints warnings when it takes too long.
bool Meeting::wait_for(c10d::Store& store,
                       const std::vector<std::string>& keys,
                       milliseconds grace) const {
  while (!store.check(keys)) {
    if (Clock::now() >= deadline_ + grace) return false;
    std::this_thread::sleep_for(kPollInterval);
  }
  return true;
}

// Rank 0: decides whether all are there, and tells those who are.
void Meeting::wait_for_all(c10d::Store& store) const {
  std::vector<std::string> keys;
  for (int rank = 0; rank < env_.world_size; ++rank) keys.push_back(arrival_key(rank));
  std::vector<int> missing;
  if (!wait_for(store, keys, milliseconds{0})) missing = missing_ranks(store);
  const std::string verdict = missing.empty() ? kAll : absence(describe_ranks(missing));
  store.set(kVerdictKey, verdict);
  if (missing.empty()) return;
  // The store ends with this process: the others must have heard first.
  const auto others = env_.world_size - static_cast<int>(missing.size()) - 1;
  const auto end = Clock::now() + kGrace;
  while (store.add(kHeardKey, 0) < others && Clock::now() < end) {
    std::this_thread::sleep_for(kPollInterval);
  }
  fail(verdict);
}

void Meeting::wait_for_verdict(c10d::Store& store) const {
  if (!wait_for(store, {kVerdictKey}, kGrace)) {
    // Rank 0 came later and still waits, so this rank sees for itself.
    fail(absence(describe_ranks(missing_ranks(store))));
  }
  const std::string verdict = store.get_to_str(kVerdictKey);
  if (verdict == kAll) return;
  store.add(kHeardKey, 1);
  fail(verdict);
}

StorePointer Meeting::run() {
  const bool leads = env_.global_rank == 0;
  try {
    const FileOfMeeting file(leads ? file_ : std::filesystem::path());
    const bool opens = leads && !(env_.master && env_.master->served_by_launcher);
    const StorePointer shared = opens ? open_store() : join_store();
    auto store = c10::make_intrusive<c10d::PrefixStore>(
        fmt::format("wamtrain/{}/{}", env_.job_id, env_.attempt), shared);
    arrive(*store);
    leads ? wait_for_all(*store) : wait_for_verdict(*store);
    store->setTimeout(limit_);
    return store;
  } catch (const c10::Error& error) {
    fail("the store of rank 0 cannot be used any more: " + store_reason(error));
  }
}

}  // namespace

c10::intrusive_ptr<c10d::Store> meet(const LaunchEnv& env, const RendezvousOptions& options) {
  if (env.world_size == 1) return c10::make_intrusive<c10d::HashStore>();
  require<ConfigError>(
      env.master.has_value() || !env.job_id.empty(),
      "meeting the other ranks: the launcher ({}) names no job, so a file in the run folder could "
      "be "
      "that of another start. Fix: give all ranks MASTER_ADDR, rank 0's host, and MASTER_PORT, a "
      "free port there.",
      name_of(env.launcher));
  return Meeting(env, options).run();
}

}  // namespace wam
