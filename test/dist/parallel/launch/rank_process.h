#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

namespace wam::test {

// A process with an environment of its own; its output and errors go to one file.
class RankProcess {
 public:
  // PATH, HOME and TMPDIR are kept of this process's environment, nothing else.
  RankProcess(const std::vector<std::string>& words,
              const std::map<std::string, std::string>& variables,
              std::filesystem::path output);
  ~RankProcess();
  RankProcess(const RankProcess&) = delete;
  RankProcess& operator=(const RankProcess&) = delete;
  RankProcess(RankProcess&&) = delete;
  RankProcess& operator=(RankProcess&&) = delete;

  // Its exit code; -signal when it was killed.
  int wait();
  // Call after `wait`.
  [[nodiscard]] std::string output() const;

 private:
  pid_t pid_ = -1;
  std::filesystem::path output_;
};

}  // namespace wam::test
