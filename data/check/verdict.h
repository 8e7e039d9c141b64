#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/check/check.h"

namespace wam {

// What a run on these datasets would do.
enum class Verdict {
  kRunsThrough,
  kSkips,  // replaces windows with bad content, as the recipe asks for
  kEnds,   // at the first window with bad content, or at a file that cannot be read
  kNoStart
};
template <>
struct EnumNames<Verdict> {
  static constexpr std::array table{
      std::pair{Verdict::kRunsThrough, std::string_view("runs through")},
      std::pair{Verdict::kSkips, std::string_view("skips")},
      std::pair{Verdict::kEnds, std::string_view("ends")},
      std::pair{Verdict::kNoStart, std::string_view("does not start")}};
};

struct Judgement {
  Verdict verdict = Verdict::kRunsThrough;
  std::int64_t faults = 0;
  std::int64_t notes = 0;
  std::string sentence;
  [[nodiscard]] bool trains() const {
    return verdict == Verdict::kRunsThrough || verdict == Verdict::kSkips;
  }
};
// `skips`: data.on_bad_sample is skip.
Judgement judge(const std::vector<CheckReport>& reports, bool skips);

// The cores of the loader that one GPU keeps busy, and the rates that say so (docs/benchmarks.md).
struct GpuNeed {
  const char* model;
  double samples_s = 0;
};
inline constexpr std::array kGpuNeeds{GpuNeed{"5B", 14.0}, GpuNeed{"14B", 0.41}};
// Above so many cores a GPU, videos want to be encoded again.
inline constexpr double kManyCores = 4;
// "a sample takes 41 ms of a core (…): 0.6 cores for a GPU that …"; empty where none was timed.
std::string cost_sentence(const SampleCost& cost);

}  // namespace wam
