#include "data/check/text.h"

#include <algorithm>

#include <fmt/core.h>

#include "core/base/format.h"

namespace wam {
namespace {

constexpr std::size_t kColumns = 96;
constexpr std::size_t kShown = 3;  // faults of a kind

std::string place_text(const Fault& fault) {
  std::string out = fault.file;
  const auto append = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  if (fault.episode) append(fmt::format("episode {}", *fault.episode));
  if (fault.frame) append(fmt::format("frame {}", *fault.frame));
  return out.empty() ? out : out + ": ";
}

std::string lengths_text(const CheckReport& report) {
  const auto by_length = [](const auto& a, const auto& b) { return a.length < b.length; };
  const auto [least, most] =
      std::minmax_element(report.episodes.begin(), report.episodes.end(), by_length);
  return fmt::format("{} episodes of {} to {} frames, {} rows", with_commas(report.num_episodes),
                     least->length, most->length, with_commas(report.num_rows()));
}

std::string facts_text(const CheckReport& report) {
  std::string out = fmt::format("{}: LeRobot {}{}{}, {:.4g} frames/s, record {}\n", report.name,
                                report.version, report.robot.empty() ? "" : ", robot ",
                                report.robot, report.fps, report.embodiment);
  if (report.episodes.empty()) return out;
  std::string cameras = fmt::format("{} cameras", report.cameras.size());
  if (report.picture) {
    cameras +=
        fmt::format(" of {}x{} (height x width)", report.picture->height, report.picture->width);
  }
  cameras += report.num_videos > 0 ? fmt::format(" in {} videos", with_commas(report.num_videos))
                                   : ", pictures in the tables";
  const auto with_window = std::count_if(report.episodes.begin(), report.episodes.end(),
                                         [](const EpisodeWindows& e) { return e.windows > 0; });
  out += wrapped(lengths_text(report) + "; " + cameras, kColumns, 2);
  out += wrapped(fmt::format("{} windows of {} blocks in {} episodes; one takes {} frames",
                             with_commas(report.num_windows()), report.blocks,
                             with_commas(with_window), report.shortest_episode),
                 kColumns, 2);
  const std::string cost = cost_sentence(report.sheet.cost);
  if (!cost.empty()) out += wrapped(cost, kColumns, 2);
  if (report.depth == CheckDepth::kQuick) out += "  no picture was decoded (--quick)\n";
  return out;
}

using Faults = std::vector<Fault>::const_iterator;

// Faults of one kind and effect.
std::string group_text(Faults begin, Faults end) {
  const auto count = static_cast<std::size_t>(end - begin);
  std::string out = fmt::format("  {}", name_of(begin->kind));
  if (count > 1) out += fmt::format(", {} times", with_commas(static_cast<std::int64_t>(count)));
  if (severity_of(begin->kind) == Severity::kFault) out += ": " + effect_text(begin->effect);
  out += "\n";
  std::string fix;
  const auto told = [&] {
    if (!fix.empty()) out += wrapped(fix_sentence(fix), kColumns, 6);
  };
  for (auto fault = begin; fault != begin + static_cast<std::ptrdiff_t>(std::min(count, kShown));
       ++fault) {
    if (fault->fix != fix) told();
    fix = fault->fix;
    out += wrapped(place_text(*fault) + fault->message, kColumns, 4);
  }
  if (count > kShown) {
    out +=
        fmt::format("    … and {} more\n", with_commas(static_cast<std::int64_t>(count - kShown)));
  }
  told();
  return out;
}

std::string faults_text(const std::vector<Fault>& all, Severity severity, const char* title) {
  std::string out;
  for (auto begin = all.begin(); begin != all.end();) {
    const auto end = std::find_if(begin, all.end(), [&](const Fault& fault) {
      return fault.kind != begin->kind || fault.effect != begin->effect;
    });
    if (severity_of(begin->kind) == severity) out += group_text(begin, end);
    begin = end;
  }
  return out.empty() ? out : fmt::format("\n{}\n{}", title, out);
}

}  // namespace

std::string effect_text(Effect effect) {
  switch (effect) {
    case Effect::kNone:
      return "does not stop training";
    case Effect::kBadSample:
      return "bad samples: data.on_bad_sample";
    case Effect::kReadError:
      return "training ends when it is read";
    case Effect::kStart:
      break;
  }
  return "training does not start";
}

std::string check_text(const CheckReport& report) {
  return (report.version.empty() ? report.root + "\n" : facts_text(report)) +
         faults_text(report.faults, Severity::kFault, "faults") +
         faults_text(report.faults, Severity::kNote, "notes");
}

}  // namespace wam
