#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/names.h"

namespace wam {

// What stands under a name in a folder of checkpoints.
enum class CheckpointKind { kComplete, kTemporary, kDeleting, kSetAside };
template <>
struct EnumNames<CheckpointKind> {
  static constexpr std::array table{
      std::pair{CheckpointKind::kComplete, std::string_view("complete")},
      std::pair{CheckpointKind::kTemporary, std::string_view("temporary")},
      std::pair{CheckpointKind::kDeleting, std::string_view("being deleted")},
      std::pair{CheckpointKind::kSetAside, std::string_view("set aside")}};
};
struct CheckpointEntry {
  std::string name;
  std::int64_t step = 0;
  CheckpointKind kind = CheckpointKind::kComplete;
};

// The folder that holds a run's checkpoints (D9):
//   step_00000020/            complete: it got this name when everything in it was on the disk
//     manifest.json
//     shard_00000_of_00001.safetensors
//   latest                    the name of the newest, for people and scripts; written last
//   *.tmp, *.deleting         left by a process that was killed; removed at the next start
//   step_00000030.set_aside   not used and not deleted: it lies after the step that the run went on
//                             from
class CheckpointFolder {
 public:
  explicit CheckpointFolder(std::filesystem::path path) : path_(std::move(path)) {}

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] std::filesystem::path of_step(std::int64_t step) const;
  // Where the checkpoint of `step` grows.
  [[nodiscard]] std::filesystem::path temporary_of_step(std::int64_t step) const;
  // All of them, by step and name; empty when there is no such folder.
  [[nodiscard]] std::vector<CheckpointEntry> entries() const;
  // Steps of the complete checkpoints, oldest first; empty when there is no such folder.
  [[nodiscard]] std::vector<std::int64_t> steps() const;
  // Any step_* folder, complete, set aside or not, other than leftovers: there is something to
  // lose.
  [[nodiscard]] bool has_data() const;
  // The content of `latest`; empty when there is none.
  [[nodiscard]] std::string latest() const;

  using Say = std::function<void(const std::string& line)>;
  // Gives the finished temporary folder of `step` its name, then points `latest` at it. Another
  // checkpoint of that step is set aside. Everything in the temporary folder is on the disk
  // already.
  void commit(std::int64_t step, const Say& say) const;
  // Deletes all but the `keep` newest checkpoints up to `newest_step`; keep 0: none. A checkpoint
  // is renamed to .deleting first, so that no half of one ever stands under its name. What
  // `latest` names stays. `moved` is called after each file, for deletions take time.
  void prune(std::int64_t newest_step,
             std::int64_t keep,
             const std::function<void()>& moved = {}) const;
  // Removes what killed processes left. Only while no other process writes here.
  void remove_leftovers(const Say& say) const;
  // Sets aside the checkpoints after `step`: a run that goes on from `step` will write others.
  void set_aside_after(std::int64_t step, const Say& say) const;

 private:
  void set_aside(std::int64_t step, const Say& say) const;

  std::filesystem::path path_;
};

}  // namespace wam
