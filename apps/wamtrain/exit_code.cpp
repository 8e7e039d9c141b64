#include "apps/wamtrain/exit_code.h"

#include <array>
#include <cstdio>
#include <new>
#include <string>

#include <c10/util/Exception.h>

#include <unistd.h>

#include "core/base/errors.h"

namespace wam {
namespace {

void print_error(const std::string& text) {
  fmt::print(stderr, "wamtrain: {}\n", text);
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "an unknown host";
}

int report_machine(const char* what) {
  print_error(fmt::format("on {}: {}", host_name(), what));
  return kExitMachine;
}

int report_bug(const char* what) {
  print_error(
      fmt::format("internal error: {}\nThis is a bug of wamtrain; please report it with "
                  "the recipe and the log.",
                  what));
  return kExitBug;
}

}  // namespace

int exit_code_of(const std::function<int()>& work) {
  try {
    return work();
  } catch (const ConfigError& error) {
    print_error(error.what());
    return kExitUser;
  } catch (const DataError& error) {
    print_error(error.what());
    return kExitUser;
  } catch (const DeviceError& error) {
    return report_machine(error.what());
  } catch (const CommError& error) {
    return report_machine(error.what());
  } catch (const InvariantError& error) {
    return report_bug(error.what());
  } catch (const Error& error) {
    print_error(error.what());
    return kExitStopped;
  } catch (const c10::OutOfMemoryError& error) {
    return report_machine(fmt::format("{}\nFix: a smaller train.micro_batch, or memory.recompute: "
                                      "full; `wamtrain plan` shows what a recipe needs.",
                                      error.what_without_backtrace())
                              .c_str());
  } catch (const c10::Error& error) {
    return report_bug(error.what());
  } catch (const std::bad_alloc&) {
    return report_machine("out of host memory. Fix: a smaller train.micro_batch or data.workers.");
  } catch (const std::exception& error) {
    return report_bug(error.what());
  }
}

}  // namespace wam
