#include "apps/wamtrain/cli.h"
#include "apps/wamtrain/exit_code.h"

int main(int argc, char** argv) {
  return wam::exit_code_of([&] { return wam::run_command_line(argc, argv); });
}
