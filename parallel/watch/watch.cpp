#include "parallel/watch/watch.h"

#include <algorithm>
#include <utility>

#include <c10/util/Exception.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <unistd.h>

#include "parallel/launch/rank_words.h"
#include "parallel/watch/exchange.h"

namespace wam {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kTick{1000};
constexpr milliseconds kSilence{15'000};
constexpr milliseconds kLook{100};
constexpr milliseconds kHearing{3000};
// The connection's own limit: longer than any run waits, since c10d prints pages when it is over.
constexpr milliseconds kNoLimit = std::chrono::hours(24 * 365);
constexpr int kExitMachine = 3;
constexpr const char* kHostKey = "watch/host";

struct Connection {
  c10::intrusive_ptr<c10d::Store> store;
  std::string host_of_rank_0;  // for messages about its end, which may come before its first word
};

Connection connect_again(c10d::Store& store, const LaunchEnv& env) {
  try {
    Connection out{.store = store.clone(), .host_of_rank_0 = env.host};
    if (env.global_rank == 0) {
      out.store->set(kHostKey, env.host);
    } else {
      out.host_of_rank_0 = out.store->get_to_str(kHostKey);
    }
    out.store->setTimeout(kNoLimit);
    return out;
  } catch (const c10::Error& error) {
    throw CommError(fmt::format(
        "rank {} opening a second connection to the store of rank 0: {}. Fix: look for the first "
        "error in the output of rank 0.",
        env.global_rank, store_reason(error)));
  }
}

std::string holder_of_store(const LaunchEnv& env) {
  if (!env.master || !env.master->served_by_launcher) return "rank 0";
  return fmt::format("torchrun's agent at {}:{}", env.master->host, env.master->port);
}

}  // namespace

Watch::Watch(const LaunchEnv& env,
             c10d::Store& store,
             const Progress& progress,
             const StopSignal& signal,
             WatchOptions options)
    : env_(env), progress_(progress), options_(std::move(options)) {
  const milliseconds silence = std::min(kSilence, options_.limit);
  tick_ = std::min(kTick, silence / 5);
  Connection connection = connect_again(store, env);
  exchange_ = std::make_shared<Exchange>(
      std::move(connection.store),
      ExchangeOptions{.rank = env.global_rank,
                      .world_size = env.world_size,
                      .host = env.host,
                      .host_of_rank_0 = connection.host_of_rank_0,
                      .store_holder = holder_of_store(env),
                      .limits = {.still = options_.limit, .silence = silence, .doubt = 4 * tick_},
                      .tick = tick_,
                      .progress = [this] { return state(); },
                      .wish =
                          [&signal] {
                            return signal.requested() ? std::string(signal.name()) + " received"
                                                      : std::string();
                          }});
  exchanging_ = std::thread([exchange = exchange_] { exchange->run(); });
  looking_ = std::thread([this] { look_after(); });
}

Watch::~Watch() {
  const bool has_verdict = exchange_->wait_for_verdict(milliseconds{0}).has_value();
  if (has_verdict) exchange_->wait_until_heard(kHearing);
  exchange_->stop();
  looking_.join();
  // A request to a host that hangs does not return; the thread owns what it uses.
  exchange_->wait_until_done(milliseconds{1000}) ? exchanging_.join() : exchanging_.detach();
}

StopAgreement& Watch::stop() {
  return exchange_->ballot();
}

ProgressState Watch::state() const {
  return progress_.state(options_.completed ? options_.completed() : 0);
}

std::string Watch::message(const Verdict& verdict) const {
  const std::string what = fmt::format("rank {} of {} leaves at {}: {}", env_.global_rank,
                                       env_.world_size, position(state()), verdict.text);
  if (verdict.exit_code != 0) {
    return fmt::format("{}. Fix: the output of rank {} has the error.", what,
                       verdict.culprits.front());
  }
  return fmt::format(
      "{}. Fix: look for the first error in the output of {}; the same command goes on from the "
      "last checkpoint.",
      what, describe_ranks(verdict.culprits));
}

void Watch::throw_verdict(const Verdict& verdict) const {
  if (verdict.exit_code != 0) throw RankFailed(message(verdict), verdict.error, verdict.exit_code);
  throw CommError(message(verdict));
}

void Watch::explain(const std::string& error) {
  exchange_->report({.kind = Failure::Kind::kCollective, .text = error});
  // Until rank 0 has read it, has made up its mind, and the verdict is here.
  const auto verdict = exchange_->wait_for_verdict(8 * tick_ + kHearing);
  if (verdict) throw_verdict(*verdict);
  throw CommError(fmt::format("rank {} of {} leaves at {}: {}", env_.global_rank, env_.world_size,
                              position(state()), error));
}

void Watch::report_error(const std::string& text, int exit_code) {
  if (const auto verdict = exchange_->wait_for_verdict(milliseconds{0})) throw_verdict(*verdict);
  own_error_ = text;
  own_exit_code_ = exit_code;
  exchange_->report({.kind = Failure::Kind::kOwn, .text = text, .exit_code = exit_code});
  const auto verdict = exchange_->wait_for_verdict(kHearing);
  if (!verdict) return;
  exchange_->wait_until_heard(kHearing);
  if (verdict->error == text && verdict->culprits.front() != env_.global_rank) {
    throw_verdict(*verdict);
  }
}

void Watch::leave() {
  exchange_->leave();
  while (!exchange_->wait_until_done(kLook)) {
    if (const auto verdict = exchange_->wait_for_verdict(milliseconds{0})) throw_verdict(*verdict);
  }
  if (const auto verdict = exchange_->wait_for_verdict(milliseconds{0})) throw_verdict(*verdict);
}

void Watch::look_after() {
  Clock::time_point runs_since = Clock::now();
  Clock::time_point last = runs_since;
  while (!exchange_->wait_until_stopping(milliseconds{0})) {
    if (const auto verdict = exchange_->wait_for_verdict(kLook)) {
      end_run(*verdict);
      return;
    }
    const auto now = Clock::now();
    // This process did not run: the silence is its own.
    if (now - last > std::max(10 * kLook, tick_)) runs_since = now;
    last = now;
    exchange_->look_at_rank_0(runs_since, now);
  }
}

void Watch::end_run(const Verdict& verdict) {
  if (options_.abort) std::thread(options_.abort).detach();
  const std::string text = message(verdict);
  if (exchange_->wait_until_stopping(options_.grace)) return;
  const int own = own_exit_code_;
  options_.last_words(own != 0 ? own_error_ : text);
  _exit(own != 0 ? own : verdict.exit_code != 0 ? verdict.exit_code : kExitMachine);
}

}  // namespace wam
