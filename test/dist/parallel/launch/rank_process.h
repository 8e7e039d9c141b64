#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

namespace wam::test {

using Variables = std::map<std::string, std::string>;

// A process with an environment of its own; its output and errors go to one file.
class RankProcess {
 public:
  // PATH, HOME and TMPDIR are kept of this process's environment, nothing else.
  RankProcess(const std::vector<std::string>& words,
              const Variables& variables,
              std::filesystem::path output);
  ~RankProcess();
  RankProcess(const RankProcess&) = delete;
  RankProcess& operator=(const RankProcess&) = delete;
  RankProcess(RankProcess&&) = delete;
  RankProcess& operator=(RankProcess&&) = delete;

  // Its exit code; -signal when it was killed.
  int wait();
  // Before `wait`: nothing is left of it but its exit code.
  [[nodiscard]] bool has_ended() const;
  // Before `wait`.
  void signal(int number) const;
  // Has stopped by SIGSTOP.
  [[nodiscard]] bool is_frozen() const;
  // What it has written so far.
  [[nodiscard]] std::string output() const;

 private:
  pid_t pid_ = -1;
  std::filesystem::path output_;
};

// A TCP socket of the loopback address at a port that was free.
class Listener {
 public:
  Listener();
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  Listener(Listener&&) = delete;
  Listener& operator=(Listener&&) = delete;
  [[nodiscard]] std::string port() const { return std::to_string(port_); }

 private:
  int socket_;
  int port_ = 0;
};

std::string free_port();

// What torchrun sets for a rank of a start on this machine.
Variables by_torchrun(int rank, int size, const std::string& port);

}  // namespace wam::test
