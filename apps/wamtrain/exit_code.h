#pragma once

#include <exception>
#include <functional>
#include <string>

#include "core/base/errors.h"

namespace wam {

// What a shell and a launcher see. The one place where errors become exit codes.
enum ExitCode : int {
  kExitOk = 0,
  kExitStopped = 1,  // the run ended on a condition of its own, or the answer is no
  kExitUser = 2,     // ConfigError, DataError, a wrong command line
  kExitMachine = 3,  // DeviceError, CommError, out of memory
  kExitBug = 4,      // InvariantError, LibTorch's own errors, anything unforeseen
};

// This rank ends because of an error that has been printed already, by another one or by itself.
class AlreadyTold : public Error {
 public:
  AlreadyTold(const std::string& what, int exit_code) : Error(what), exit_code_(exit_code) {}
  [[nodiscard]] int exit_code() const noexcept { return exit_code_; }

 private:
  int exit_code_;
};

int exit_code_for(const std::exception& error);

// "wamtrain: TEXT" on stderr.
void print_error(const std::string& text);

// The error in the form that its type asks for, on stderr.
void print_error(const std::exception& error);

// Runs `work`; what it throws is printed, and becomes the exit code.
int exit_code_of(const std::function<int()>& work);

}  // namespace wam
