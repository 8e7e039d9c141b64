#include "test/e2e/cli/program.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <sys/wait.h>

namespace wam::test {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string content(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

}  // namespace

Outcome run_wamtrain(const std::vector<std::string>& arguments,
                     const std::filesystem::path& folder) {
  const auto out = folder / "stdout.txt";
  const auto err = folder / "stderr.txt";
  std::string command = "cd " + quoted(folder.string()) + " && " + quoted(WAM_PROGRAM);
  for (const auto& argument : arguments) command += " " + quoted(argument);
  command += " >" + quoted(out.string()) + " 2>" + quoted(err.string());
  const auto start = std::chrono::steady_clock::now();
  const int status = std::system(command.c_str());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
          .seconds = took.count(),
          .out = content(out),
          .err = content(err)};
}

}  // namespace wam::test
