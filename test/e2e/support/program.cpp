#include "test/e2e/support/program.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <iostream>
#include <stdexcept>

#include <sys/wait.h>
#include <unistd.h>

namespace wam::test {
namespace {

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// In the new process: becomes wamtrain, or ends with 127 as a shell would.
[[noreturn]] void become(const std::string& folder, char* const* words, int out, int err) {
  if (::chdir(folder.c_str()) == 0 && ::dup2(out, STDOUT_FILENO) >= 0 &&
      ::dup2(err, STDERR_FILENO) >= 0) {
    ::execv(words[0], words);
  }
  ::_exit(127);
}

}  // namespace

Program::Program(const std::vector<std::string>& arguments,
                 const std::filesystem::path& folder,
                 int ranks)
    : out_(std::tmpfile()), err_(std::tmpfile()), started_s_(now_s()) {
  if (!out_ || !err_) throw std::runtime_error("no temporary file for a program's output");
  std::vector<std::string> words;
  if (ranks > 1) {
    words = {WAM_MPIRUN, "-np", std::to_string(ranks), "--oversubscribe", "--allow-run-as-root"};
  }
  words.emplace_back(WAM_PROGRAM);
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) become(folder.string(), pointers.data(), fileno(out_.get()), fileno(err_.get()));
  if (pid_ < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
}

Program::~Program() {
  if (ended_) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

std::string Program::content(const File& file) {
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t n = 0; (n = ::pread(fileno(file.get()), part.data(), part.size(),
                                   static_cast<off_t>(text.size()))) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(n));
  }
  return text;
}

std::string Program::out() const {
  return content(out_);
}

void Program::note_end(int status) {
  ended_ = true;
  outcome_ = {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
              .seconds = now_s() - started_s_,
              .out = content(out_),
              .err = content(err_)};
}

bool Program::is_running() {
  int status = 0;
  if (!ended_ && ::waitpid(pid_, &status, WNOHANG) == pid_) note_end(status);
  return !ended_;
}

void Program::signal(int number) const {
  if (!ended_) ::kill(pid_, number);
}

Outcome Program::wait() {
  int status = 0;
  if (!ended_ && ::waitpid(pid_, &status, 0) == pid_) note_end(status);
  return outcome_;
}

Outcome run_wamtrain(const std::vector<std::string>& arguments,
                     const std::filesystem::path& folder,
                     int ranks) {
  return Program(arguments, folder, ranks).wait();
}

bool has_mpirun() {
  if (*WAM_MPIRUN != '\0') return true;
  std::cout << "SKIPPED: mpirun was not found (openmpi-bin)\n";
  return false;
}

}  // namespace wam::test
