#include "core/train/checkpoint_verify.h"

#include <atomic>
#include <ranges>

#include "core/base/errors.h"
#include "core/base/format.h"
#include "core/base/names.h"
#include "core/base/parallel.h"
#include "core/io/atomic_file.h"
#include "core/io/hash.h"
#include "core/train/manifest.h"

namespace wam {
namespace {

namespace fs = std::filesystem;

// Empty when the file is what the manifest says.
std::string problem_of(const fs::path& folder,
                       const ManifestFile& file,
                       const std::function<void(std::size_t)>& on_bytes) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(folder / file.name, error);
  if (error) return fmt::format("{} cannot be opened ({})", file.name, error.message());
  if (bytes != file.bytes) {
    return fmt::format("{} has {} bytes, expected {}", file.name, bytes, file.bytes);
  }
  try {
    const std::string found = hash_hex(file_hash((folder / file.name).string(), on_bytes));
    if (found != file.xxh3) {
      return fmt::format("the content of {} has changed: its hash is {}, expected {}", file.name,
                         found, file.xxh3);
    }
  } catch (const DataError& e) {
    return e.what();
  }
  return {};
}

std::vector<std::string> problems_of(const fs::path& folder,
                                     const std::vector<ManifestFile>& files,
                                     unsigned threads,
                                     const HashProgress& progress) {
  std::uint64_t total = 0;
  for (const ManifestFile& file : files) total += file.bytes;
  std::atomic<std::uint64_t> done = 0;
  const auto on_bytes = [&](std::size_t bytes) {
    const std::uint64_t so_far = done += bytes;
    if (progress) progress(so_far, total);
  };
  std::vector<std::string> problems(files.size());
  for_each_index(files.size(), threads,
                 [&](std::size_t i) { problems[i] = problem_of(folder, files[i], on_bytes); });
  return problems;
}

// Every element of every unit is in exactly one file.
void check_ranges(const Manifest& manifest, std::vector<std::string>& problems) {
  for (const ManifestUnit& unit : manifest.units) {
    try {
      plan_range(unit.held, unit.trainable_numel, 0, 0, "unit " + unit.name);
    } catch (const DataError& e) {
      problems.emplace_back(e.what());
    }
  }
}

}  // namespace

std::string CheckpointCheck::text() const {
  if (!ok()) return join(problems, "\n  ");
  return fmt::format("step {}, {} {}, {}, all hashes hold", step, files,
                     files == 1 ? "file" : "files", human_bytes(static_cast<double>(bytes)));
}

CheckpointCheck verify_checkpoint(const fs::path& folder,
                                  unsigned threads,
                                  const HashProgress& progress) {
  CheckpointCheck check;
  check.folder = folder;
  Manifest manifest;
  try {
    const fs::path path = folder / "manifest.json";
    manifest = parse_manifest(read_file(path), path.string());
  } catch (const DataError& e) {
    check.problems.emplace_back(e.what());
    return check;
  }
  check.step = manifest.run.step;
  if (manifest.files.empty()) check.problems.emplace_back("its manifest lists no files");
  check_ranges(manifest, check.problems);
  const auto problems = problems_of(folder, manifest.files, threads, progress);
  for (std::size_t i = 0; i < problems.size(); ++i) {
    if (problems[i].empty()) {
      ++check.files;
      check.bytes += manifest.files[i].bytes;
    } else {
      check.problems.push_back(problems[i]);
    }
  }
  return check;
}

Resumable find_resumable(const CheckpointFolder& checkpoints) {
  Resumable out;
  for (const std::int64_t step : std::views::reverse(checkpoints.steps())) {
    CheckpointCheck check = verify_checkpoint(checkpoints.of_step(step));
    if (check.ok() && check.step != step) {
      check.problems.push_back(fmt::format("its manifest is of step {}", check.step));
    }
    if (check.ok()) {
      out.folder = check.folder;
      out.step = step;
      return out;
    }
    out.passed_over.push_back(std::move(check));
  }
  if (!checkpoints.has_data()) return out;
  std::string reasons;
  for (const CheckpointCheck& check : out.passed_over) {
    reasons += fmt::format("\n  {}: {}", check.folder.filename().string(), check.text());
  }
  throw DataError(fmt::format(
      "looking for a checkpoint in {}: there is none that is whole, and the run does not start "
      "afresh over what is there.{}\nFix: repair one, move the folder away, or choose another "
      "run.dir.",
      checkpoints.path().string(), reasons));
}

}  // namespace wam
