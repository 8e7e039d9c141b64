#include "data/embodiment/column_advice.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "core/base/errors.h"
#include "core/base/names.h"

namespace wam {
namespace {

struct Candidate {
  std::string column;
  std::int64_t width = 0;
};

// "actions.joint_position" -> {action, joint, position}: words without a plural's s.
std::set<std::string> words_of(const std::string& name) {
  std::set<std::string> words;
  std::string word;
  const auto finish = [&] {
    if (word.size() > 3 && word.back() == 's') word.pop_back();
    if (!word.empty()) words.insert(word);
    word.clear();
  };
  for (const char c : name) {
    if (c == '.' || c == '_' || c == '/' || c == '-' || c == ' ') {
      finish();
    } else {
      word.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
    }
  }
  finish();
  return words;
}

// What counts rows or time is no candidate.
bool is_bookkeeping(const std::string& column) {
  static const std::set<std::string> kKnown = {"timestamp", "frame_index", "episode_index", "index",
                                               "task_index"};
  return kKnown.count(column) > 0 || column.rfind("next.", 0) == 0;
}

// Shared words of the key and the kind, the latter counting more.
int likeness(const std::string& kind, const std::string& key, const std::string& column) {
  const auto words = words_of(column);
  int score = words.count(kind) > 0 ? 2 : 0;
  for (const auto& word : words_of(key)) score += words.count(word) > 0 ? 1 : 0;
  return score;
}

std::string entry_for(const std::string& kind,
                      const UnplacedKey& unplaced,
                      const std::vector<Candidate>& candidates) {
  const std::string& key = unplaced.key;
  const Candidate* best = nullptr;
  int best_score = 0;
  for (const Candidate& candidate : candidates) {
    const int score = likeness(kind, key, candidate.column);
    if (score > best_score) best = &candidate;
    best_score = std::max(best_score, score);
  }
  const bool keeps_part = unplaced.end && (best == nullptr || *unplaced.end <= best->width);
  std::string start = best == nullptr ? "..." : "0";
  std::string end = best == nullptr ? "..." : fmt::to_string(best->width);
  if (keeps_part) {
    start = fmt::to_string(*unplaced.start);
    end = fmt::to_string(*unplaced.end);
  }
  return fmt::format("{}.{}: {{column: {}, start: {}, end: {}}}", kind, key,
                     best == nullptr ? "..." : best->column, start, end);
}

}  // namespace

std::string column_advice(const LeRobotReader& reader,
                          VectorKind vector_kind,
                          const std::vector<UnplacedKey>& keys) {
  const std::string kind = vector_kind == VectorKind::kState ? "state" : "action";
  std::vector<std::string> found;
  std::vector<Candidate> candidates;
  for (const TableColumn& column : reader.table_columns(0)) {
    if (column.kind != ColumnKind::kNumbers) {
      found.push_back(fmt::format("{} ({})", column.name, column.type));
      continue;
    }
    const std::int64_t width = reader.column_width(0, column.name);
    found.push_back(fmt::format("{} ({} numbers)", column.name, width));
    if (!is_bookkeeping(column.name)) candidates.push_back({column.name, width});
  }
  std::string text = fmt::format(
      "Found: {}. Fix: write into column_map of the embodiment's record, with the "
      "values that are meant:",
      join(found));
  for (const auto& key : keys) text += "\n    " + entry_for(kind, key, candidates);
  return text;
}

}  // namespace wam
