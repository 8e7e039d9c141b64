#include "data/dataset/set_facts.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

#include "core/base/errors.h"
#include "core/random/counter.h"

namespace wam {
namespace {

// Runs of equal neighbours, and the frame where each begins.
template <class T>
std::vector<std::pair<std::int64_t, T>> runs_in(const std::vector<T>& values) {
  std::vector<std::pair<std::int64_t, T>> runs;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i == 0 || values[i] != values[i - 1]) {
      runs.emplace_back(static_cast<std::int64_t>(i), values[i]);
    }
  }
  return runs;
}

std::vector<std::int64_t> read_integers(const LeRobotReader& reader,
                                        std::int64_t episode_idx,
                                        const std::string& column) {
  const at::Tensor values =
      reader.read_column(episode_idx, column).select(1, 0).to(at::kLong).contiguous();
  const auto* data = values.const_data_ptr<std::int64_t>();
  return {data, data + values.size(0)};
}

std::vector<FrameRun> read_labels(const LeRobotReader& reader,
                                  const Binding& binding,
                                  std::int64_t episode_idx) {
  if (binding.span.empty()) return {{0, 0}};
  std::vector<FrameRun> runs;
  if (reader.is_text_column(episode_idx, binding.span)) {
    for (const auto& [begin, text] : runs_in(reader.read_strings(episode_idx, binding.span))) {
      runs.push_back({begin, static_cast<std::int64_t>(fnv1a64(text.data(), text.size()))});
    }
  } else {
    for (const auto& [begin, value] : runs_in(read_integers(reader, episode_idx, binding.span))) {
      runs.push_back({begin, value});
    }
  }
  return runs;
}

std::vector<std::pair<std::int64_t, std::string>> read_texts(const LeRobotReader& reader,
                                                             std::int64_t episode_idx,
                                                             const std::string& column) {
  std::vector<std::pair<std::int64_t, std::string>> runs;
  if (reader.is_text_column(episode_idx, column)) {
    return runs_in(reader.read_language(episode_idx, column));
  }
  for (const auto& [begin, task] : runs_in(read_integers(reader, episode_idx, column))) {
    runs.emplace_back(begin, reader.instruction(task).value_or(""));
  }
  return runs;
}

// All episodes, read by several threads.
class FactsReader {
 public:
  FactsReader(const LeRobotReader& reader, const Binding& binding, const EpisodeProgress& progress)
      : reader_(reader),
        binding_(binding),
        progress_(progress),
        episodes_(static_cast<std::size_t>(reader.num_episodes())),
        errors_(episodes_.size()),
        stop_(episodes_.size()) {}

  std::vector<RawEpisodeFacts> read(std::int64_t threads) {
    std::vector<std::thread> pool;
    for (std::int64_t t = 1; t < threads; ++t) pool.emplace_back([this] { work(); });
    work();
    for (auto& thread : pool) thread.join();
    for (const auto& error : errors_) {
      if (error) std::rethrow_exception(error);
    }
    return std::move(episodes_);
  }

 private:
  void work() {
    for (std::size_t e = next_++; e < stop_; e = next_++) {
      try {
        episodes_[e] = read_episode_facts(reader_, binding_, static_cast<std::int64_t>(e));
        tell();
      } catch (...) {
        errors_[e] = std::current_exception();
        stop_ = std::min<std::size_t>(stop_, e);  // earlier ones are already taken and will finish
      }
    }
  }

  void tell() {
    if (!progress_) return;
    const std::lock_guard lock(mutex_);
    progress_(++done_, static_cast<std::int64_t>(episodes_.size()));
  }

  const LeRobotReader& reader_;
  const Binding& binding_;
  const EpisodeProgress& progress_;
  std::vector<RawEpisodeFacts> episodes_;
  std::vector<std::exception_ptr> errors_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> stop_;
  std::mutex mutex_;
  std::int64_t done_ = 0;
};

}  // namespace

RawEpisodeFacts read_episode_facts(const LeRobotReader& reader,
                                   const Binding& binding,
                                   std::int64_t episode_idx) {
  RawEpisodeFacts out;
  out.facts.length = reader.episode_length(episode_idx);
  out.facts.labels = read_labels(reader, binding, episode_idx);
  for (const auto& column : binding.language) {
    out.language.push_back(read_texts(reader, episode_idx, column));
  }
  return out;
}

std::int64_t value_at(const std::vector<FrameRun>& runs, std::int64_t frame) {
  const auto after =
      std::upper_bound(runs.begin(), runs.end(), frame,
                       [](std::int64_t value, const FrameRun& run) { return value < run.begin; });
  invariant(after != runs.begin(), "a frame before the first run");
  return (after - 1)->value;
}

SetFacts read_facts(const LeRobotReader& reader,
                    const Binding& binding,
                    std::int64_t threads,
                    const EpisodeProgress& progress) {
  auto raw = FactsReader(reader, binding, progress).read(threads);
  SetFacts out;
  std::map<std::string, std::int64_t> place;
  for (RawEpisodeFacts& episode : raw) {
    for (const auto& column : episode.language) {
      auto& runs = episode.facts.language.emplace_back();
      for (const auto& [begin, text] : column) {
        const auto [found, is_new] =
            place.emplace(text, static_cast<std::int64_t>(out.texts.size()));
        if (is_new) out.texts.push_back(text);
        runs.push_back({begin, found->second});
      }
    }
    out.episodes.push_back(std::move(episode.facts));
  }
  return out;
}

}  // namespace wam
