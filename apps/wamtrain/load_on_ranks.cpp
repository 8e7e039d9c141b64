#include "apps/wamtrain/load_on_ranks.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <optional>
#include <system_error>

#include <unistd.h>

#include "apps/wamtrain/exit_code.h"
#include "apps/wamtrain/ranks.h"
#include "apps/wamtrain/read_limit.h"
#include "core/base/errors.h"
#include "core/base/read_watch.h"
#include "core/io/disk.h"
#include "core/recipe/reader.h"

namespace wam {
namespace {

namespace fs = std::filesystem;

constexpr double kMeetingLimit_s = 30;

// As much of the section as can be read, whatever else is wrong.
RunSection run_section(const RecipeArguments& arguments) {
  Problems known(arguments.recipe.string());
  return load_recipe<Recipe>(arguments.recipe, arguments.overrides, known).run;
}

// Empty where there is none that all ranks can come to.
fs::path meeting_folder(const RunSection& run, const LaunchEnv& env) {
  if (!run.dir.empty()) return run.dir;
  const bool on_one_host = env.local_world_size == env.world_size;
  return on_one_host || env.master ? fs::temp_directory_path() : fs::path();
}

// The first rank's: a run that never was leaves no folder.
class EmptyFolder {
 public:
  EmptyFolder(fs::path folder, bool is_mine) : folder_(std::move(folder)) {
    make_folders(folder_);
    removes_ = is_mine;
  }
  ~EmptyFolder() {
    std::error_code not_empty;
    if (removes_) fs::remove(folder_, not_empty);
  }
  EmptyFolder(const EmptyFolder&) = delete;
  EmptyFolder& operator=(const EmptyFolder&) = delete;
  EmptyFolder(EmptyFolder&&) = delete;
  EmptyFolder& operator=(EmptyFolder&&) = delete;

 private:
  fs::path folder_;
  bool removes_ = false;
};

[[noreturn]] void say_together(const RecipeArguments& arguments,
                               const LaunchEnv& env,
                               const std::exception_ptr& fault) {
  const RunSection run = run_section(arguments);
  const fs::path where = meeting_folder(run, env);
  std::optional<EmptyFolder> folder;
  std::optional<Ranks> ranks;
  try {
    if (where.empty()) std::rethrow_exception(fault);
    folder.emplace(where, env.global_rank == 0 && where == run.dir);
    const double limit_s = std::min(run.timeout_s, kMeetingLimit_s);
    ranks.emplace(where, std::chrono::milliseconds(static_cast<std::int64_t>(1000 * limit_s)));
  } catch (const Error&) {
    std::rethrow_exception(fault);
  }
  ranks->run([&]() -> int { std::rethrow_exception(fault); });
  throw InvariantError("a fault that was not thrown");
}

// The main thread is held back in a read and will not hear of it.
[[noreturn]] void end_stalled(const RecipeArguments& arguments,
                              const LaunchEnv& env,
                              const std::string& error) {
  const int code = exit_code_of([&]() -> int {
    if (env.world_size == 1) throw DeviceError(error);
    say_together(arguments, env, std::make_exception_ptr(DeviceError(error)));
  });
  _exit(code);
}

}  // namespace

ResolvedRecipe load_on_ranks(const RecipeArguments& arguments,
                             const LaunchEnv& env,
                             const std::function<ResolvedRecipe()>& load) {
  const ReadWatch watch(
      {.limit = read_limit(run_section(arguments)),
       .on_slow =
           [&](const std::string& line) {
             if (env.global_rank == 0) print_error(line);
           },
       .on_stall = [&](const std::string& error) { end_stalled(arguments, env, error); }});
  try {
    return load();
  } catch (const Error&) {
    if (env.world_size == 1) throw;
    say_together(arguments, env, std::current_exception());
  }
}

}  // namespace wam
