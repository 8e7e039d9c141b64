#include <cstdio>

#include "apps/wamtrain/commands.h"
#include "apps/wamtrain/exit_code.h"
#include "core/base/errors.h"
#include "core/report/report.h"

namespace wam {

int report_command(const ReportArguments& arguments) {
  constexpr std::size_t kMaxWindows = 4;
  const auto& run = arguments.run;
  require<ConfigError>(std::filesystem::is_directory(run),
                       "report: there is no folder {}. Fix: give the run.dir of a run.",
                       run.string());
  fmt::print("{}\n", write_report(run).string());
  if (arguments.picture.empty()) return kExitOk;
  write_action_picture(run, arguments.picture, kMaxWindows);
  fmt::print("{}\n", arguments.picture.string());
  return kExitOk;
}

}  // namespace wam
