#pragma once

#include <algorithm>
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace wam {

// Values that are costly to make, kept until their summed cost passes `capacity`; then the longest
// unused go first. A value larger than the capacity is handed out and not kept. Values that are in
// use outlive their removal (shared_ptr). A value counts as `least_cost` at least: thousands of
// small blocks that live long among short-lived ones leave holes everywhere.
//
// Threads: all members may be called from any thread. `make` runs without the lock, so two threads
// that miss at once both make the value and the first one to finish is kept.
template <class Key, class Value>
class LruCache {
 public:
  struct Made {
    std::shared_ptr<Value> value;
    std::size_t cost = 1;
  };

  explicit LruCache(std::size_t capacity, std::size_t least_cost = 0)
      : capacity_(capacity), least_cost_(least_cost) {}

  // The value of `key`; on a miss what `make() -> Made` returns.
  template <class Make>
  std::shared_ptr<Value> get(const Key& key, Make&& make) {
    if (auto found = find(key)) return found;
    return keep(key, std::forward<Make>(make)());
  }

  // Null on a miss.
  std::shared_ptr<Value> find(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto at = by_key_.find(key);
    if (at == by_key_.end()) return nullptr;
    order_.splice(order_.begin(), order_, at->second);
    return at->second->made.value;
  }

  [[nodiscard]] std::size_t cost() const {
    const std::lock_guard lock(mutex_);
    return cost_;
  }
  [[nodiscard]] std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return by_key_.size();
  }

 private:
  struct Entry {
    Key key;
    Made made;
  };

  std::shared_ptr<Value> keep(const Key& key, Made made) {
    const std::lock_guard lock(mutex_);
    const auto at = by_key_.find(key);
    if (at != by_key_.end()) return at->second->made.value;
    made.cost = std::max(made.cost, least_cost_);
    if (made.cost > capacity_) return made.value;
    while (cost_ + made.cost > capacity_) drop_oldest();
    cost_ += made.cost;
    order_.push_front(Entry{key, std::move(made)});
    by_key_.emplace(key, order_.begin());
    return order_.front().made.value;
  }

  void drop_oldest() {
    cost_ -= order_.back().made.cost;
    by_key_.erase(order_.back().key);
    order_.pop_back();
  }

  std::size_t capacity_;
  std::size_t least_cost_;
  std::size_t cost_ = 0;
  std::list<Entry> order_;  // latest use first
  std::map<Key, typename std::list<Entry>::iterator> by_key_;
  mutable std::mutex mutex_;
};

}  // namespace wam
