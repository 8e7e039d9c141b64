#include "data/dataset/scan.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <set>
#include <thread>

#include "core/base/errors.h"
#include "core/random/counter.h"

namespace wam {
namespace {

constexpr const char* kNotProvided = "not provided";

std::vector<std::int64_t> read_labels(const LeRobotReader& reader,
                                      const Binding& binding,
                                      std::int64_t episode_idx) {
  std::vector<std::int64_t> labels;
  if (binding.span.empty()) {
    labels.assign(static_cast<std::size_t>(reader.episode_length(episode_idx)), 0);
  } else if (reader.is_text_column(episode_idx, binding.span)) {
    for (const auto& text : reader.read_strings(episode_idx, binding.span)) {
      labels.push_back(static_cast<std::int64_t>(fnv1a64(text.data(), text.size())));
    }
  } else {
    const at::Tensor column =
        reader.read_column(episode_idx, binding.span).to(at::kLong).contiguous();
    const auto* data = column.const_data_ptr<std::int64_t>();
    labels.assign(data, data + column.size(0));
  }
  return labels;
}

std::vector<EpisodeScan::Run> runs_of(const std::vector<std::int64_t>& labels) {
  std::vector<EpisodeScan::Run> runs;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (i == 0 || labels[i] != labels[i - 1]) {
      runs.push_back({static_cast<std::int64_t>(i), labels[i]});
    }
  }
  return runs;
}

// Frames that meta/step_filter.jsonl rules out are no starts.
void remove_excluded(const LeRobotReader& reader,
                     std::int64_t episode_idx,
                     std::vector<std::int64_t>& starts) {
  const auto& all = reader.meta().excluded_starts;
  const auto found = all.find(reader.episode_number(episode_idx));
  if (found == all.end()) return;
  std::erase_if(starts, [&](std::int64_t start) {
    return std::binary_search(found->second.begin(), found->second.end(), start);
  });
}

// Every text that a start of this episode may be given.
std::vector<std::string> collect_texts(const LeRobotReader& reader,
                                       const Binding& binding,
                                       std::int64_t episode_idx,
                                       const std::vector<std::int64_t>& starts,
                                       InstructionRule instructions) {
  std::vector<std::vector<std::string>> columns;
  for (const auto& column : binding.language) {
    columns.push_back(reader.read_language(episode_idx, column));
  }
  std::set<std::string> found;
  std::vector<std::string> texts(columns.size());
  for (const auto start : starts) {
    for (std::size_t k = 0; k < columns.size(); ++k) {
      texts[k] = columns[k].at(static_cast<std::size_t>(start));
    }
    const auto eligible = eligible_texts(texts, instructions);
    require<DataError>(!eligible.empty(),
                       "scanning LeRobot dataset {}: episode {}, frame {} has no instruction. Fix: "
                       "give its task a text, or discard the episode",
                       reader.meta().root.string(), reader.episode_number(episode_idx), start);
    for (const auto k : eligible) found.insert(texts[k]);
  }
  return {found.begin(), found.end()};
}

}  // namespace

std::vector<std::int64_t> labels_of(const EpisodeScan& scan) {
  std::vector<std::int64_t> labels(static_cast<std::size_t>(scan.length));
  for (std::size_t r = 0; r < scan.runs.size(); ++r) {
    const std::int64_t end = r + 1 < scan.runs.size() ? scan.runs[r + 1].begin : scan.length;
    std::fill(labels.begin() + scan.runs[r].begin, labels.begin() + end, scan.runs[r].label);
  }
  return labels;
}

std::vector<std::size_t> eligible_texts(const std::vector<std::string>& texts,
                                        InstructionRule rule) {
  std::vector<std::size_t> provided;
  std::vector<std::size_t> any;
  for (std::size_t k = 0; k < texts.size(); ++k) {
    if (texts[k].empty()) continue;
    any.push_back(k);
    if (texts[k] != kNotProvided) provided.push_back(k);
  }
  std::vector<std::size_t>& chosen =
      rule == InstructionRule::kFirst || provided.empty() ? any : provided;
  // "not provided" once: several keys with it are one choice.
  const bool one = rule != InstructionRule::kUniformProvided || provided.empty();
  if (one && chosen.size() > 1) chosen.resize(1);
  return chosen;
}

std::vector<std::string> texts_at(const LeRobotReader& reader,
                                  const Binding& binding,
                                  std::int64_t episode_idx,
                                  std::int64_t frame) {
  std::vector<std::string> texts;
  for (const auto& column : binding.language) {
    texts.push_back(reader.read_language(episode_idx, column).at(static_cast<std::size_t>(frame)));
  }
  return texts;
}

namespace {

EpisodeScan scan_episode(const LeRobotReader& reader,
                         const Binding& binding,
                         const WindowRule& rule,
                         InstructionRule instructions,
                         std::int64_t episode_idx) {
  const auto labels = read_labels(reader, binding, episode_idx);
  EpisodeScan scan;
  scan.length = reader.episode_length(episode_idx);
  require<DataError>(static_cast<std::int64_t>(labels.size()) == scan.length,
                     "scanning LeRobot dataset {}: episode {} has {} rows, but {} frames in the "
                     "episode list. Fix: mend meta/episodes.jsonl, or discard the episode",
                     reader.meta().root.string(), reader.episode_number(episode_idx), labels.size(),
                     scan.length);
  scan.runs = runs_of(labels);
  scan.starts = valid_starts(labels, rule);
  remove_excluded(reader, episode_idx, scan.starts);
  if (!scan.starts.empty()) {
    scan.texts = collect_texts(reader, binding, episode_idx, scan.starts, instructions);
  }
  return scan;
}

}  // namespace

std::vector<EpisodeScan> scan_episodes(const LeRobotReader& reader,
                                       const Binding& binding,
                                       const WindowRule& rule,
                                       InstructionRule instructions,
                                       std::int64_t threads) {
  const auto count = static_cast<std::size_t>(reader.num_episodes());
  std::vector<EpisodeScan> scans(count);
  std::vector<std::exception_ptr> errors(count);
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> stop{count};
  const auto work = [&] {
    for (std::size_t e = next++; e < stop; e = next++) {
      try {
        scans[e] = scan_episode(reader, binding, rule, instructions, static_cast<std::int64_t>(e));
      } catch (...) {
        errors[e] = std::current_exception();
        stop = std::min<std::size_t>(stop, e);  // earlier ones are already taken and will finish
      }
    }
  };
  std::vector<std::thread> pool;
  for (std::int64_t t = 1; t < threads; ++t) pool.emplace_back(work);
  work();
  for (auto& thread : pool) thread.join();
  for (const auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  return scans;
}

}  // namespace wam
