#include "data/dataset/start_frames.h"

#include <algorithm>

#include "core/base/errors.h"

namespace wam {

StartFrames::StartFrames(const std::vector<std::int64_t>& ascending) {
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    if (runs_.empty() || runs_.back().end != ascending[i]) {
      runs_.push_back({ascending[i], ascending[i], i});
    }
    ++runs_.back().end;
  }
  runs_.shrink_to_fit();
}

std::size_t StartFrames::size() const noexcept {
  if (runs_.empty()) return 0;
  const Run& last = runs_.back();
  return last.before + static_cast<std::size_t>(last.end - last.begin);
}

std::int64_t StartFrames::at(std::size_t n) const {
  invariant(n < size(), "a start past the last one");
  const auto after =
      std::upper_bound(runs_.begin(), runs_.end(), n,
                       [](std::size_t value, const Run& run) { return value < run.before; });
  const Run& run = *(after - 1);
  return run.begin + static_cast<std::int64_t>(n - run.before);
}

std::size_t StartFrames::before(std::int64_t frame) const {
  const auto after =
      std::lower_bound(runs_.begin(), runs_.end(), frame,
                       [](const Run& run, std::int64_t value) { return run.begin < value; });
  if (after == runs_.begin()) return 0;
  const Run& run = *(after - 1);
  return run.before + static_cast<std::size_t>(std::min(frame, run.end) - run.begin);
}

bool StartFrames::contains(std::int64_t frame) const {
  const auto after =
      std::upper_bound(runs_.begin(), runs_.end(), frame,
                       [](std::int64_t value, const Run& run) { return value < run.begin; });
  return after != runs_.begin() && frame < (after - 1)->end;
}

std::vector<std::int64_t> StartFrames::values() const {
  std::vector<std::int64_t> out;
  out.reserve(size());
  for (const Run& run : runs_) {
    for (std::int64_t frame = run.begin; frame < run.end; ++frame) out.push_back(frame);
  }
  return out;
}

}  // namespace wam
