#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

namespace wam::test {

struct Outcome {
  int exit_code = -1;  // minus the number of the signal that ended it
  double seconds = 0;
  std::string out;
  std::string err;
};

// A wamtrain process, or with several ranks mpirun and its own, running from `folder`. The
// destructor kills one that is still there.
class Program {
 public:
  Program(const std::vector<std::string>& arguments,
          const std::filesystem::path& folder,
          int ranks = 1);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  Program(Program&&) = delete;
  Program& operator=(Program&&) = delete;

  [[nodiscard]] bool is_running();
  // What it has printed so far.
  [[nodiscard]] std::string out() const;
  void signal(int number) const;
  // Until it has ended.
  Outcome wait();

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  using File = std::unique_ptr<std::FILE, CloseFile>;

  static std::string content(const File& file);
  void note_end(int status);

  File out_;
  File err_;
  pid_t pid_ = -1;
  double started_s_ = 0;
  bool ended_ = false;
  Outcome outcome_;
};

// Runs wamtrain with these arguments, from `folder`, and waits.
Outcome run_wamtrain(const std::vector<std::string>& arguments,
                     const std::filesystem::path& folder,
                     int ranks = 1);

// Whether several ranks can be started; says that a test is skipped where not.
bool has_mpirun();

}  // namespace wam::test
