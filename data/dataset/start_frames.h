#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace wam {

// Frames of an episode, ascending, kept as runs of neighbours: the starts of millions of frames are
// a few numbers an episode.
class StartFrames {
 public:
  StartFrames() = default;
  explicit StartFrames(const std::vector<std::int64_t>& ascending);

  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] bool empty() const noexcept { return runs_.empty(); }
  // The n-th frame, n < size().
  [[nodiscard]] std::int64_t at(std::size_t n) const;
  // How many are below `frame`.
  [[nodiscard]] std::size_t before(std::int64_t frame) const;
  [[nodiscard]] bool contains(std::int64_t frame) const;
  [[nodiscard]] std::vector<std::int64_t> values() const;

 private:
  struct Run {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::size_t before = 0;  // frames of the runs before it
  };
  std::vector<Run> runs_;
};

}  // namespace wam
