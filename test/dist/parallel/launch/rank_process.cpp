#include "test/dist/parallel/launch/rank_process.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

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
                         const Variables& variables,
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

bool RankProcess::has_ended() const {
  siginfo_t info{};
  const int options = WEXITED | WNOHANG | WNOWAIT;
  return ::waitid(P_PID, static_cast<id_t>(pid_), &info, options) == 0 && info.si_pid == pid_;
}

void RankProcess::signal(int number) const {
  if (pid_ <= 0) throw std::logic_error("a signal to a process that has been waited for");
  ::kill(pid_, number);
}

bool RankProcess::is_frozen() const {
  const std::string status = read_file("/proc/" + std::to_string(pid_) + "/status");
  return status.find("State:\tT") != std::string::npos;
}

std::string RankProcess::output() const {
  return read_file(output_);
}

Listener::Listener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket_, generic, length) != 0 || ::listen(socket_, 16) != 0 ||
      ::getsockname(socket_, generic, &length) != 0) {
    throw std::runtime_error(std::string("listening at a free port: ") + std::strerror(errno));
  }
  port_ = ::ntohs(address.sin_port);
}

Listener::~Listener() {
  ::close(socket_);
}

std::string free_port() {
  return Listener().port();
}

Variables by_torchrun(int rank, int size, const std::string& port) {
  return {{"RANK", std::to_string(rank)},
          {"WORLD_SIZE", std::to_string(size)},
          {"LOCAL_RANK", std::to_string(rank)},
          {"LOCAL_WORLD_SIZE", std::to_string(size)},
          {"TORCHELASTIC_RUN_ID", "none"},
          {"MASTER_ADDR", "127.0.0.1"},
          {"MASTER_PORT", port}};
}

}  // namespace wam::test
