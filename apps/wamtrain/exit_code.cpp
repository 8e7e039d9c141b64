#include "apps/wamtrain/exit_code.h"

#include <cstdio>
#include <new>

#include <c10/util/Exception.h>

#include "core/base/host_name.h"
#include "parallel/watch/watch.h"

namespace wam {
namespace {

template <class Type>
bool is(const std::exception& error) {
  return dynamic_cast<const Type*>(&error) != nullptr;
}

std::string machine_text(const std::exception& error) {
  if (const auto* memory = dynamic_cast<const c10::OutOfMemoryError*>(&error)) {
    return fmt::format(
        "{}\nFix: a smaller train.micro_batch, or memory.recompute: full; `wamtrain "
        "plan` shows what a recipe needs.",
        memory->what_without_backtrace());
  }
  if (is<std::bad_alloc>(error)) {
    return "out of host memory. Fix: a smaller train.micro_batch or data.workers.";
  }
  return error.what();
}

std::string text_of(const std::exception& error, int exit_code) {
  if (is<RankFailed>(error)) return error.what();
  switch (exit_code) {
    case kExitMachine:
      return fmt::format("on {}: {}", host_name().value_or("an unknown host"), machine_text(error));
    case kExitBug:
      return fmt::format(
          "internal error: {}\nThis is a bug of wamtrain; please report it with "
          "the recipe and the log.",
          error.what());
    default:
      return error.what();
  }
}

}  // namespace

void print_error(const std::string& text) {
  fmt::print(stderr, "wamtrain: {}\n", text);
}

void print_error(const std::exception& error) {
  print_error(text_of(error, exit_code_for(error)));
}

int exit_code_for(const std::exception& error) {
  if (const auto* told = dynamic_cast<const AlreadyTold*>(&error)) return told->exit_code();
  if (const auto* failed = dynamic_cast<const RankFailed*>(&error)) return failed->exit_code();
  if (is<ConfigError>(error) || is<DataError>(error)) return kExitUser;
  if (is<DeviceError>(error) || is<CommError>(error)) return kExitMachine;
  if (is<InvariantError>(error)) return kExitBug;
  if (is<Error>(error)) return kExitStopped;
  if (is<c10::OutOfMemoryError>(error) || is<std::bad_alloc>(error)) return kExitMachine;
  return kExitBug;
}

int exit_code_of(const std::function<int()>& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    if (!is<AlreadyTold>(error)) print_error(error);
    return exit_code_for(error);
  }
}

}  // namespace wam
