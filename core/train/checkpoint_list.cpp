#include "core/train/checkpoint_list.h"

#include <chrono>
#include <ranges>
#include <system_error>

#include "core/base/errors.h"
#include "core/train/checkpoint_reader.h"

namespace wam {
namespace {

namespace fs = std::filesystem;

// Somebody may be writing or deleting there: what is gone meanwhile counts as nothing.
std::uint64_t bytes_in(const fs::path& folder) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    const std::uintmax_t size = fs::file_size(at->path(), ignored);
    if (!ignored) bytes += size;
  }
  return bytes;
}

double age_of(const fs::path& folder) {
  std::error_code error;
  auto written = fs::last_write_time(folder / "manifest.json", error);
  if (error) written = fs::last_write_time(folder, error);
  if (error) return 0;
  return std::chrono::duration<double>(fs::file_time_type::clock::now() - written).count();
}

std::string problem_of(const fs::path& folder,
                       std::int64_t step,
                       CheckpointLook look,
                       const HashProgress& progress) {
  try {
    const CheckpointReader reader(folder);
    const std::int64_t found = reader.manifest().run.step;
    if (found != step) return fmt::format("its manifest is of step {}", found);
  } catch (const DataError& e) {
    return e.what();
  }
  if (look == CheckpointLook::kSizes) return {};
  const CheckpointCheck check = verify_checkpoint(folder, 0, progress);
  return check.ok() ? std::string() : check.text();
}

}  // namespace

std::string ListedCheckpoint::state() const {
  return problem.empty() ? std::string(name_of(entry.kind)) : "damaged";
}

std::vector<ListedCheckpoint> list_checkpoints(const CheckpointFolder& folder,
                                               CheckpointLook look,
                                               const HashProgress& progress) {
  const std::string latest = folder.latest();
  std::vector<ListedCheckpoint> list;
  for (const CheckpointEntry& entry : folder.entries()) {
    const fs::path path = folder.path() / entry.name;
    ListedCheckpoint listed;
    listed.entry = entry;
    listed.age_s = age_of(path);
    listed.bytes = bytes_in(path);
    if (entry.kind == CheckpointKind::kComplete || entry.kind == CheckpointKind::kSetAside) {
      listed.problem = problem_of(path, entry.step, look, progress);
    }
    listed.is_latest = entry.name == latest;
    list.push_back(std::move(listed));
  }
  for (ListedCheckpoint& listed : std::views::reverse(list)) {
    if (listed.entry.kind != CheckpointKind::kComplete || !listed.problem.empty()) continue;
    listed.is_resumed = true;
    break;
  }
  return list;
}

}  // namespace wam
