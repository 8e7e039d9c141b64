#include "test/support/thread_ranks.h"

#include <chrono>
#include <exception>
#include <functional>
#include <stdexcept>
#include <thread>

#include <ATen/ops/cat.h>

namespace wam::test {

class ThreadCollectives final : public Collectives {
 public:
  ThreadCollectives(ThreadAxis& axis, int rank, std::vector<std::string>& calls)
      : axis_(axis), rank_(rank), calls_(calls) {}

  [[nodiscard]] int axis_size() const override { return static_cast<int>(axis_.given_.size()); }
  [[nodiscard]] int axis_rank() const override { return rank_; }

  void all_reduce_sum(at::Tensor& values, const std::string& what) override {
    note("all_reduce", what);
    at::Tensor sum;
    axis_.meet(rank_, values, [&](const auto& all) { sum = sum_of(all); });
    values.copy_(sum);
  }

  void all_gather(at::Tensor& full, const at::Tensor& piece, const std::string& what) override {
    note("all_gather", what);
    check_place(piece, full);
    at::Tensor whole;
    axis_.meet(rank_, piece, [&](const auto& all) { whole = at::cat(all); });
    full.copy_(whole);
  }

  void reduce_scatter_sum(at::Tensor& piece, at::Tensor& full, const std::string& what) override {
    note("reduce_scatter", what);
    check_place(piece, full);
    at::Tensor sum;
    axis_.meet(rank_, full, [&](const auto& all) { sum = sum_of(all); });
    full.fill_(-1e6);  // is undefined now
    piece.copy_(sum.narrow(0, piece.numel() * rank_, piece.numel()));
  }

 private:
  void note(const std::string& operation, const std::string& what) {
    calls_.push_back(operation + " " + what);
  }

  // In place means at this rank's own place: NCCL takes no other.
  void check_place(const at::Tensor& piece, const at::Tensor& full) const {
    const auto* begin = static_cast<const char*>(full.const_data_ptr());
    const auto* at = static_cast<const char*>(piece.const_data_ptr());
    const std::less<> before;
    if (before(at, begin) || !before(at, begin + full.nbytes())) return;
    if (at == begin + static_cast<std::size_t>(rank_) * piece.nbytes()) return;
    throw std::runtime_error("a piece inside of the whole, and not at its rank's place");
  }

  static at::Tensor sum_of(const std::vector<at::Tensor>& all) {
    at::Tensor sum = all.front().clone();
    for (std::size_t i = 1; i < all.size(); ++i) sum.add_(all[i]);
    return sum;
  }

  ThreadAxis& axis_;
  int rank_;
  std::vector<std::string>& calls_;
};

std::shared_ptr<Collectives> ThreadAxis::connect(int rank, std::vector<std::string>& calls) {
  return std::make_shared<ThreadCollectives>(*this, rank, calls);
}

void ThreadAxis::wait_for_all(std::unique_lock<std::mutex>& lock) {
  const std::size_t round = round_;
  if (++arrived_ == given_.size()) {
    arrived_ = 0;
    ++round_;
    come_.notify_all();
    return;
  }
  const auto next = [&] { return round_ != round; };
  if (come_.wait_for(lock, std::chrono::seconds(10), next)) return;
  throw std::runtime_error("a rank did not come to a collective");
}

void ThreadAxis::meet(int rank,
                      const at::Tensor& mine,
                      const std::function<void(const std::vector<at::Tensor>&)>& use) {
  std::unique_lock lock(mutex_);
  given_.at(static_cast<std::size_t>(rank)) = mine;
  wait_for_all(lock);
  use(given_);
  wait_for_all(lock);
}

void run_ranks(int count, const std::function<void(int rank)>& work) {
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        work(rank);
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (!first) first = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

}  // namespace wam::test
