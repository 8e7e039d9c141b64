#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace wam {

// What FFmpeg's interface does not tell of an mp4 track: how much later than its decoding time each
// sample is shown, in units of the track, in decoding order (boxes stsz and ctts).
//
// Nothing for files whose index is more than that: no mp4, fragments, several edits, negative
// offsets, boxes that contradict each other. Those must be read packet by packet.
//
// Source: ISO/IEC 14496-12, 8.6.1.3 (ctts), 8.6.6 (elst), 8.7.3 (stsz).
std::optional<std::vector<std::int64_t>> read_composition_offsets(const std::filesystem::path& path,
                                                                  std::int64_t track);

}  // namespace wam
