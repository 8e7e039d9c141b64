#include "core/train/checkpoint_folder.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "core/io/disk.h"

namespace wam {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step_";
constexpr const char* kLatest = "latest";

std::string name_of(std::int64_t step) {
  return fmt::format("{}{:08}", kPrefix, step);
}

constexpr std::string_view kTemporary = ".tmp";
constexpr std::string_view kDeleting = ".deleting";
constexpr std::string_view kSetAside = ".set_aside";

std::optional<CheckpointKind> kind_of(std::string_view ending) {
  if (ending.empty()) return CheckpointKind::kComplete;
  if (ending == kTemporary) return CheckpointKind::kTemporary;
  if (ending == kDeleting) return CheckpointKind::kDeleting;
  if (ending.starts_with(kSetAside)) return CheckpointKind::kSetAside;
  return std::nullopt;
}

// What a name says; nothing for what is no checkpoint.
std::optional<CheckpointEntry> entry_of(const std::string& name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  std::int64_t step = 0;
  const char* end = name.data() + name.size();
  const auto result = std::from_chars(name.data() + kPrefix.size(), end, step);
  if (result.ec != std::errc() || !name.starts_with(name_of(step))) return std::nullopt;
  const auto kind = kind_of({result.ptr, end});
  if (!kind) return std::nullopt;
  return CheckpointEntry{.name = name, .step = step, .kind = *kind};
}

bool is_leftover(std::string_view name) {
  return name.ends_with(kTemporary) || name.ends_with(kDeleting);
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  require<DataError>(!error || error == std::errc::no_such_file_or_directory,
                     "looking for checkpoints in {}: {}.", folder.string(), error.message());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

fs::path CheckpointFolder::of_step(std::int64_t step) const {
  return path_ / name_of(step);
}

fs::path CheckpointFolder::temporary_of_step(std::int64_t step) const {
  return path_ / fmt::format("{}{}", name_of(step), kTemporary);
}

std::vector<CheckpointEntry> CheckpointFolder::entries() const {
  std::vector<CheckpointEntry> out;
  for (const std::string& name : names_in(path_)) {
    if (const auto entry = entry_of(name)) out.push_back(*entry);
  }
  std::stable_sort(out.begin(), out.end(), [](const CheckpointEntry& a, const CheckpointEntry& b) {
    return a.step < b.step;
  });
  return out;
}

std::vector<std::int64_t> CheckpointFolder::steps() const {
  std::vector<std::int64_t> out;
  for (const CheckpointEntry& entry : entries()) {
    if (entry.kind == CheckpointKind::kComplete) out.push_back(entry.step);
  }
  return out;
}

bool CheckpointFolder::has_data() const {
  const auto names = names_in(path_);
  return std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name.starts_with(kPrefix) && !is_leftover(name);
  });
}

std::string CheckpointFolder::latest() const {
  std::error_code ignored;
  if (!fs::exists(path_ / kLatest, ignored)) return {};
  std::string name = read_file(path_ / kLatest);
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

void CheckpointFolder::commit(std::int64_t step, const Say& say) const {
  const fs::path temporary = temporary_of_step(step);
  sync_to_disk(temporary);
  std::error_code ignored;
  if (fs::exists(of_step(step), ignored)) set_aside(step, say);
  rename_and_sync(temporary, of_step(step));
  write_file_atomically(path_ / kLatest, name_of(step) + "\n");
}

void CheckpointFolder::prune(std::int64_t newest_step,
                             std::int64_t keep,
                             const std::function<void()>& moved) const {
  if (keep == 0) return;
  std::vector<std::int64_t> old = steps();
  std::erase_if(old, [&](std::int64_t step) { return step > newest_step; });
  const auto spared = std::min(old.size(), static_cast<std::size_t>(keep));
  old.resize(old.size() - spared);
  const std::string pointed = latest();
  for (const std::int64_t step : old) {
    if (name_of(step) == pointed) continue;
    const fs::path doomed = path_ / fmt::format("{}{}", name_of(step), kDeleting);
    rename_and_sync(of_step(step), doomed);
    for (const std::string& file : names_in(doomed)) {
      remove_tree(doomed / file);
      if (moved) moved();
    }
    remove_tree(doomed);
  }
}

void CheckpointFolder::remove_leftovers(const Say& say) const {
  for (const std::string& name : names_in(path_)) {
    if (!is_leftover(name)) continue;
    say(fmt::format("removing {}, left by a process that was stopped while it wrote or deleted",
                    (path_ / name).string()));
    remove_tree(path_ / name);
  }
}

void CheckpointFolder::set_aside_after(std::int64_t step, const Say& say) const {
  for (const std::int64_t later : steps()) {
    if (later > step) set_aside(later, say);
  }
}

void CheckpointFolder::set_aside(std::int64_t step, const Say& say) const {
  const std::string first = fmt::format("{}{}", name_of(step), kSetAside);
  std::string name = first;
  std::error_code ignored;
  for (int i = 2; fs::exists(path_ / name, ignored); ++i) {
    name = fmt::format("{}.{}", first, i);
  }
  rename_and_sync(of_step(step), path_ / name);
  say(fmt::format("{} is not used any more and now called {}; delete it when you do not need it",
                  of_step(step).string(), name));
}

}  // namespace wam
