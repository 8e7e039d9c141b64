// exchange_program LIMIT_MS ROUNDS [RANK [slow]]: one rank that exchanges texts with the others
// from two threads, ROUNDS times each, and checks that nothing is left in the store. RANK
// takes no part in the last round of its first thread or, when slow, does after twice the limit,
// and tells meanwhile that it goes on. Exit codes as the trainer's.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "core/base/errors.h"
#include "parallel/launch/exchange.h"
#include "parallel/launch/rendezvous.h"

namespace {

// Of any content and size.
std::string text_of(int thread, int round, int rank) {
  return fmt::format("{}:{}:{}\n", thread, round, rank) +
         std::string(static_cast<std::size_t>(rank) * 70'000, '\0');
}

class Rank {
 public:
  Rank(int limit_ms, int rounds, int absent_rank, bool slow)
      : env_(wam::read_launch_env(wam::process_environment())),
        store_(wam::meet(env_, {.run_dir = "/proc/none"})),
        exchange_(store_, env_, std::chrono::milliseconds(limit_ms)),
        limit_(limit_ms),
        rounds_(rounds),
        is_absent_(absent_rank == env_.global_rank && !slow),
        is_slow_(absent_rank == env_.global_rank && slow) {}

  void run() {
    const auto before = store_->getNumKeys();
    const auto together = [&](const char* what) {  // through the store, in another way
      store_->add(what, 1);
      while (store_->add(what, 0) < env_.world_size) {
      }
    };
    together("begun");
    std::thread other([this] { guarded([this] { exchange_all(1); }); });
    guarded([this] { exchange_all(0); });
    other.join();
    if (error_) std::rethrow_exception(error_);
    together("ended");
    if (env_.global_rank == 0) {
      const auto left = store_->getNumKeys() - before;
      // "begun", "ended", that somebody goes on, and keys of ranks that had not arrived when they
      // were counted first.
      if (left > 3 + env_.world_size) throw wam::InvariantError(fmt::format("{} keys left", left));
    }
    fmt::print("rank {} exchanged\n", env_.global_rank);
    // Rank 0 holds the store, so it leaves when the others ask for nothing more.
    store_->add("left", 1);
    while (env_.global_rank == 0 && store_->add("left", 0) < env_.world_size) {
    }
  }

 private:
  template <class Work>
  void guarded(const Work& work) {
    try {
      work();
    } catch (...) {
      error_ = std::current_exception();
    }
  }

  void exchange_all(int thread) {
    for (int round = 0; round < rounds_; ++round) {
      const bool is_last = thread == 0 && round + 1 == rounds_;
      if (is_absent_ && is_last) {
        std::this_thread::sleep_for(std::chrono::seconds(20));  // alive, and elsewhere
        std::exit(0);
      }
      if (is_slow_ && is_last) work_for_long();
      const auto texts = exchange_.all(fmt::format("{}.{}", thread, round),
                                       text_of(thread, round, env_.global_rank));
      for (int rank = 0; rank < env_.world_size; ++rank) {
        if (texts.at(static_cast<std::size_t>(rank)) != text_of(thread, round, rank)) {
          throw wam::InvariantError(fmt::format("another text of rank {}", rank));
        }
      }
    }
  }

  void work_for_long() const {
    const auto end = std::chrono::steady_clock::now() + 2 * limit_ + limit_ / 2;
    while (std::chrono::steady_clock::now() < end) {
      exchange_.goes_on();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  wam::LaunchEnv env_;
  c10::intrusive_ptr<c10d::Store> store_;
  wam::TextExchange exchange_;
  std::chrono::milliseconds limit_;
  int rounds_;
  bool is_absent_;
  bool is_slow_;
  std::exception_ptr error_;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 3) throw wam::ConfigError("LIMIT_MS and ROUNDS are missing");
    Rank(std::atoi(argv[1]), std::atoi(argv[2]), argc > 3 ? std::atoi(argv[3]) : -1, argc > 4)
        .run();
    return 0;
  } catch (const wam::CommError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 3;
  } catch (const wam::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 4;
  }
}
