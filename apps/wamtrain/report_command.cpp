#include <cstdio>

#include "apps/wamtrain/commands.h"
#include "apps/wamtrain/exit_code.h"
#include "core/base/errors.h"
#include "core/report/report.h"

namespace wam {

int report_command(const std::filesystem::path& run) {
  require<ConfigError>(std::filesystem::is_directory(run),
                       "report: there is no folder {}. Fix: give the run.dir of a run.",
                       run.string());
  fmt::print("{}\n", write_report(run).string());
  return kExitOk;
}

}  // namespace wam
