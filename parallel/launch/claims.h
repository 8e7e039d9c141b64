#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parallel/launch/launch_env.h"

namespace wam {

// A variable as messages show it ("RANK=3"), and its number.
struct Setting {
  std::string text;
  int value = 0;
};

// Reads variables and collects what is wrong with them. An empty value counts as not set.
class VariableReader {
 public:
  explicit VariableReader(const GetVariable& variable) : variable_(variable) {}
  [[nodiscard]] std::optional<std::string> text(const char* name) const;
  [[nodiscard]] bool has(const char* name) const { return text(name).has_value(); }
  // Notes a problem when the variable is set and no whole number from 0 on.
  std::optional<Setting> number(const char* name);
  void note(std::string problem) { problems_.push_back(std::move(problem)); }
  [[nodiscard]] const std::vector<std::string>& problems() const noexcept { return problems_; }

 private:
  const GetVariable& variable_;
  std::vector<std::string> problems_;
};

// What one launcher says about this process.
struct Claim {
  Launcher launcher = Launcher::kNone;
  Setting rank, size;
  std::optional<Setting> local_rank, local_size;
  std::string job_id;
  bool has_daemons = true;    // may stand inside a launcher that runs one process a node
  bool one_per_node = false;  // runs at most one process a node

  [[nodiscard]] bool agrees_with(const Claim& other) const {
    return rank.value == other.rank.value && size.value == other.size.value;
  }
};

std::string_view spoken_name(Launcher launcher);

// All launchers of which complete variables are there, the innermost first.
std::vector<Claim> read_claims(VariableReader& reader);

// Slurm's list of tasks a node: "2(x3),1" is {2, 2, 2, 1}; nothing when it is not such a list.
std::optional<std::vector<int>> parse_tasks_per_node(std::string_view text);

}  // namespace wam
