#include "core/base/now_reading.h"

#include <utility>

namespace wam {
namespace {

// Of the thread, so that readers many calls below need not be handed the note.
ReadingNote*& note_of_thread() {
  thread_local ReadingNote* note = nullptr;
  return note;
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

void now_reading(const std::filesystem::path& file) {
  if (ReadingNote* note = note_of_thread()) note->set(file.string());
}

}  // namespace wam
