#pragma once

#include <functional>

namespace wam {

// What a shell and a launcher see. The one place where errors become exit codes.
enum ExitCode : int {
  kExitOk = 0,
  kExitStopped = 1,  // the run ended on a condition of its own, or the answer is no
  kExitUser = 2,     // ConfigError, DataError, a wrong command line
  kExitMachine = 3,  // DeviceError, CommError, out of memory
  kExitBug = 4,      // InvariantError, LibTorch's own errors, anything unforeseen
};

// Runs `work`; what it throws is written to stderr in the form that its type asks for, and becomes
// the exit code.
int exit_code_of(const std::function<int()>& work);

}  // namespace wam
