#include "data/check/verdict.h"

#include <fmt/core.h>

#include "core/base/format.h"

namespace wam {
namespace {

std::string in_words(Verdict verdict, bool skips) {
  switch (verdict) {
    case Verdict::kRunsThrough:
      return "Training would start and run through";
    case Verdict::kSkips:
      return "Training would start, and replace windows with bad content (data.on_bad_sample: "
             "skip)";
    case Verdict::kEnds:
      return skips ? "Training would start, and end when it reads a file that is missing"
                   : "Training would start, and end at the first window with bad content "
                     "(data.on_bad_sample: fail)";
    case Verdict::kNoStart:
      break;
  }
  return "Training would not start";
}

}  // namespace

Judgement judge(const std::vector<CheckReport>& reports, bool skips) {
  Judgement out;
  Effect worst = Effect::kNone;
  for (const auto& report : reports) {
    for (const Fault& fault : report.faults) {
      (severity_of(fault.kind) == Severity::kFault ? out.faults : out.notes) += 1;
      worst = std::max(worst, fault.effect);
    }
  }
  if (worst == Effect::kBadSample) out.verdict = skips ? Verdict::kSkips : Verdict::kEnds;
  if (worst == Effect::kReadError) out.verdict = Verdict::kEnds;
  if (worst == Effect::kStart) out.verdict = Verdict::kNoStart;
  out.sentence = fmt::format("{}: {}, {}", in_words(out.verdict, skips),
                             counted(out.faults, "fault"), counted(out.notes, "note"));
  return out;
}

std::string cost_sentence(const SampleCost& cost) {
  if (cost.samples == 0) return {};
  std::string out =
      fmt::format("a sample takes {:.3g} ms of a core (decoding {:.3g}, transform {:.3g})",
                  1e3 * cost.total_s(), 1e3 * cost.decode_s, 1e3 * cost.transform_s);
  double most = 0;
  for (const GpuNeed& need : kGpuNeeds) {
    const double cores = need.samples_s * cost.total_s();
    most = std::max(most, cores);
    const bool is_first = &need == kGpuNeeds.data();
    out += fmt::format("{}{:.2g}{} with the {} ({:.3g} samples/s)", is_first ? ": " : ", ", cores,
                       is_first ? " cores keep one H200 busy" : "", need.model, need.samples_s);
  }
  if (most > kManyCores) {
    out += ". That is many: docs/data.md says what helps (Sets that decode slowly)";
  }
  return out;
}

}  // namespace wam
