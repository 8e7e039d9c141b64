#include "core/base/now_reading.h"

#include <utility>

namespace wam {
namespace {

// Of the thread, so that readers many calls below need not be handed the note.
ReadingNote*& note_of_thread() {
  thread_local ReadingNote* note = nullptr;
  return note;
}

struct AllReads {
  std::mutex mutex;
  std::list<ReadInHand> in_hand;  // in the order in which they began
  std::uint64_t count = 0;
};

// Never destroyed: a thread may be held back in a read when the process ends.
AllReads& all_reads() {
  static auto* all = new AllReads();
  return *all;
}

}  // namespace

void ReadingNote::set(std::string file) {
  const std::lock_guard lock(mutex_);
  file_ = std::move(file);
}

std::string ReadingNote::file() const {
  const std::lock_guard lock(mutex_);
  return file_;
}

NotedReads::NotedReads(ReadingNote& note) noexcept {
  note_of_thread() = &note;
}

NotedReads::~NotedReads() {
  note_of_thread() = nullptr;
}

Reading::Reading(const std::filesystem::path& file) {
  if (ReadingNote* note = note_of_thread()) {
    note->set(file.string());
    return;
  }
  AllReads& all = all_reads();
  const std::lock_guard lock(all.mutex);
  place_ = all.in_hand.insert(all.in_hand.end(), {all.count++, file.string()});
}

Reading::~Reading() {
  if (!place_) return;
  AllReads& all = all_reads();
  const std::lock_guard lock(all.mutex);
  all.in_hand.erase(*place_);
}

std::optional<ReadInHand> longest_read() {
  AllReads& all = all_reads();
  const std::lock_guard lock(all.mutex);
  if (all.in_hand.empty()) return std::nullopt;
  return all.in_hand.front();
}

}  // namespace wam
