#include "test/dist/parallel/launch/rank_process.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include "core/io/atomic_file.h"

namespace wam::test {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

RankProcess::RankProcess(const std::vector<std::string>& words,
                         const std::map<std::string, std::string>& variables,
                         std::filesystem::path output)
    : output_(std::move(output)) {
  std::vector<std::string> arguments = words;
  std::vector<std::string> environment;
  for (const char* kept : {"PATH", "HOME", "TMPDIR"}) {
    if (const char* value = std::getenv(kept))
      environment.push_back(std::string(kept) + "=" + value);
  }
  for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 1, output_.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
  ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
  const int error = ::posix_spawn(&pid_, words.front().c_str(), &actions, nullptr,
                                  pointers(arguments).data(), pointers(environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error(words.front() + ": " + std::strerror(error));
}

RankProcess::~RankProcess() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

int RankProcess::wait() {
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::string RankProcess::output() const {
  return read_file(output_);
}

}  // namespace wam::test
