#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/names.h"

namespace wam {

// What a check of a dataset can find, in the order in which it is told.
enum class FaultKind {
  kMetadata,
  kTable,
  kColumns,
  kStart,
  kMissingVideo,
  kUnreadableVideo,
  kUndecodable,
  kPictureSize,
  kFrameCount,
  kFrameTimes,
  kFrameRate,
  kFrameGap,
  kRowOrder,
  kNotFinite,
  kConstant,
  kNearConstant,
  kRarelyMoves,
  kOutlier,
  kJump,
  kStill,
  kFrozenCamera,
  kBlankCamera,
  kDuplicate,
  kNoInstruction,
  kNoWindows,
  kShortEpisode,
  kIdleFramesCut,
  kDrift,
  kWithoutText,
  kLeftOut,
};
template <>
struct EnumNames<FaultKind> {
  static constexpr std::array<std::pair<FaultKind, std::string_view>, 30> table{
      {{FaultKind::kMetadata, "metadata"},
       {FaultKind::kTable, "table"},
       {FaultKind::kColumns, "columns"},
       {FaultKind::kStart, "start of training"},
       {FaultKind::kMissingVideo, "missing video"},
       {FaultKind::kUnreadableVideo, "unreadable video"},
       {FaultKind::kUndecodable, "undecodable pictures"},
       {FaultKind::kPictureSize, "picture size"},
       {FaultKind::kFrameCount, "frame count"},
       {FaultKind::kFrameTimes, "frame times"},
       {FaultKind::kFrameRate, "frame rate"},
       {FaultKind::kFrameGap, "gap between frames"},
       {FaultKind::kRowOrder, "order of rows"},
       {FaultKind::kNotFinite, "not a number"},
       {FaultKind::kConstant, "constant"},
       {FaultKind::kNearConstant, "near-constant"},
       {FaultKind::kRarelyMoves, "rarely moves"},
       {FaultKind::kOutlier, "outlier"},
       {FaultKind::kJump, "action jump"},
       {FaultKind::kStill, "near-static clip"},
       {FaultKind::kFrozenCamera, "frozen camera"},
       {FaultKind::kBlankCamera, "blank camera"},
       {FaultKind::kDuplicate, "duplicate episodes"},
       {FaultKind::kNoInstruction, "no instruction"},
       {FaultKind::kNoWindows, "no windows"},
       {FaultKind::kShortEpisode, "episodes without a window"},
       {FaultKind::kIdleFramesCut, "idle frames cut"},
       {FaultKind::kDrift, "drifting start times"},
       {FaultKind::kWithoutText, "not provided"},
       {FaultKind::kLeftOut, "left out"}}};
};

enum class Severity { kFault, kNote };
template <>
struct EnumNames<Severity> {
  static constexpr std::array table{std::pair{Severity::kFault, std::string_view("fault")},
                                    std::pair{Severity::kNote, std::string_view("note")}};
};
// The last kinds are how data may be; the others are what is wrong with it.
constexpr Severity severity_of(FaultKind kind) {
  return kind >= FaultKind::kShortEpisode ? Severity::kNote : Severity::kFault;
}

// What training makes of it.
enum class Effect {
  kNone,       // trains as it is
  kBadSample,  // ends at the first window with it, or replaces it: data.on_bad_sample
  kReadError,  // ends when it is read, whatever data.on_bad_sample says
  kStart,      // does not start
};
template <>
struct EnumNames<Effect> {
  static constexpr std::array table{std::pair{Effect::kNone, std::string_view("none")},
                                    std::pair{Effect::kBadSample, std::string_view("bad sample")},
                                    std::pair{Effect::kReadError, std::string_view("read error")},
                                    std::pair{Effect::kStart, std::string_view("start")}};
};

struct Fault {
  FaultKind kind = FaultKind::kMetadata;
  Effect effect = Effect::kNone;
  std::string file;  // below the dataset's folder; empty: about no single file
  std::optional<std::int64_t> episode = {};  // the dataset's own number
  std::optional<std::int64_t> frame = {};    // of the episode, the first where there are several
  std::string message;
  std::string fix;  // empty: nothing to do
  bool operator==(const Fault&) const = default;
};

// A message of an error, taken apart: without what is said of dataset and episode in front, without
// `file`, which a fault names itself, other paths without the dataset's folder `root`, and without
// its "Fix: ", which is `fix`.
struct ErrorText {
  std::string message;
  std::string fix;
};
ErrorText error_text(const std::string& what,
                     const std::string& root,
                     const std::string& file = {});

// "Fix: ....", without a full stop behind an entry to copy.
std::string fix_sentence(const std::string& fix);

// By kind, episode, file and frame.
void sort_faults(std::vector<Fault>& faults);

}  // namespace wam
