#include "parallel/launch/exchange.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "core/base/errors.h"
#include "parallel/launch/rank_words.h"

namespace wam {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kFirstPoll{1};
constexpr milliseconds kLongestPoll{100};
// For rank 0 to tell the others, after the limit.
constexpr milliseconds kGrace{2000};
// How often in a limit a rank tells that it goes on, at most.
constexpr int kTellings = 10;
constexpr const char* kGoesOnKey = "exchange/goes_on";
// In the place of the texts: why there are none.
constexpr char kFailure = '!';

// "3:abc" after "3:abc": texts of any content in one.
std::string pack(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += fmt::format("{}:{}", text.size(), text);
  return out;
}

std::vector<std::string> unpack(const std::string& packed) {
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < packed.size();) {
    const std::size_t colon = packed.find(':', at);
    const std::size_t size = std::stoul(packed.substr(at, colon - at));
    texts.push_back(packed.substr(colon + 1, size));
    at = colon + 1 + size;
  }
  return texts;
}

}  // namespace

// One call of one rank.
class TextExchange::Call {
 public:
  Call(const TextExchange& exchange, const std::string& key)
      : store_(*exchange.store_), env_(exchange.env_), limit_(exchange.limit_), key_(key) {}

  std::vector<std::string> run(const std::string& mine) {
    try {
      tellings_ = tellings();
      store_.set(of_rank(env_.global_rank), mine);
      return env_.global_rank == 0 ? collect() : read();
    } catch (const c10::Error& error) {
      fail("the store of rank 0 cannot be used any more: " + store_reason(error));
    }
  }

 private:
  [[nodiscard]] std::string of_rank(int rank) const {
    return fmt::format("exchange/{}/{}", key_, rank);
  }
  [[nodiscard]] std::string of_all() const { return fmt::format("exchange/{}/all", key_); }
  [[nodiscard]] std::string readers() const { return fmt::format("exchange/{}/read", key_); }

  std::vector<std::string> collect() {
    std::vector<std::string> keys;
    for (int rank = 0; rank < env_.world_size; ++rank) keys.push_back(of_rank(rank));
    if (!wait_for(keys, limit_)) give_up();
    std::vector<std::string> texts;
    for (const std::string& key : keys) texts.push_back(store_.get_to_str(key));
    store_.set(of_all(), pack(texts));
    for (const std::string& key : keys) store_.deleteKey(key);
    return texts;
  }

  // The store ends with this process: the others must have heard first.
  [[noreturn]] void give_up() {
    const std::vector<int> missing = missing_ranks();
    const std::string why = absence(missing);
    store_.set(of_all(), kFailure + why);
    const auto others = env_.world_size - static_cast<int>(missing.size()) - 1;
    const auto end = Clock::now() + kGrace;
    while (store_.add(readers(), 0) < others && Clock::now() < end) {
      std::this_thread::sleep_for(kLongestPoll);
    }
    fail(why);
  }

  std::vector<std::string> read() {
    if (!wait_for({of_all()}, limit_ + kGrace)) {
      std::vector<int> missing = missing_ranks();
      if (missing.empty()) missing.push_back(0);  // it came, and did not collect what was there
      fail(absence(missing));
    }
    const std::string found = store_.get_to_str(of_all());
    const bool is_last = store_.add(readers(), 1) == env_.world_size - 1;
    if (found.front() == kFailure) fail(found.substr(1));
    if (is_last) {
      store_.deleteKey(of_all());
      store_.deleteKey(readers());
    }
    return unpack(found);
  }

  // For the limit, and again as long as a rank goes on. c10d's own wait would keep other threads
  // off the store meanwhile.
  bool wait_for(const std::vector<std::string>& keys, milliseconds limit) {
    auto end = Clock::now() + limit;
    for (milliseconds pause = kFirstPoll; !store_.check(keys);
         pause = std::min(2 * pause, kLongestPoll)) {
      if (Clock::now() >= end) {
        const std::int64_t before = std::exchange(tellings_, tellings());
        if (tellings_ == before) return false;
        end = Clock::now() + limit;
      }
      std::this_thread::sleep_for(pause);
    }
    return true;
  }

  // How often ranks have told that they go on. Asking for it makes no key.
  [[nodiscard]] std::int64_t tellings() const {
    return store_.check({kGoesOnKey}) ? store_.add(kGoesOnKey, 0) : 0;
  }

  [[nodiscard]] std::vector<int> missing_ranks() {
    std::vector<int> missing;
    for (int rank = 0; rank < env_.world_size; ++rank) {
      if (!store_.check({of_rank(rank)})) missing.push_back(rank);
    }
    return missing;
  }

  [[nodiscard]] std::string absence(const std::vector<int>& missing) const {
    return fmt::format("{} did not come within {:g} s", describe_ranks(missing),
                       static_cast<double>(limit_.count()) / 1000);
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw CommError(fmt::format(
        "rank {} of {} on {} exchanging {}: {}. Fix: look for the first error in the output of "
        "these ranks.",
        env_.global_rank, env_.world_size, env_.host, key_, what));
  }

  c10d::Store& store_;
  const LaunchEnv& env_;
  milliseconds limit_;
  const std::string& key_;
  std::int64_t tellings_ = 0;  // when the limit began
};

TextExchange::TextExchange(c10::intrusive_ptr<c10d::Store> store,
                           const LaunchEnv& env,
                           milliseconds time_limit)
    : store_(std::move(store)),
      env_(env),
      limit_(time_limit),
      last_told_ms_(std::make_shared<std::atomic<std::int64_t>>(0)) {}

void TextExchange::goes_on() const noexcept {
  if (env_.world_size == 1) return;
  const std::int64_t now =
      std::chrono::duration_cast<milliseconds>(Clock::now().time_since_epoch()).count();
  std::int64_t last = *last_told_ms_;
  if (now - last < limit_.count() / kTellings) return;
  if (!last_told_ms_->compare_exchange_strong(last, now)) return;  // another thread tells
  try {
    store_->add(kGoesOnKey, 1);
  } catch (const c10::Error&) {
    // The exchange itself will say that the store is gone.
  }
}

std::vector<std::string> TextExchange::all(const std::string& key, const std::string& mine) const {
  if (env_.world_size == 1) return {mine};
  return Call(*this, key).run(mine);
}

}  // namespace wam
