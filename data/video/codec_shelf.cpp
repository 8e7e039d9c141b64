#include "data/video/codec_shelf.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>

namespace wam {
namespace {

bool are_alike(const AVCodecParameters& a, const AVCodecParameters& b) {
  const auto coding = [](const AVCodecParameters& p) {
    return std::tie(p.codec_id, p.codec_tag, p.format, p.profile, p.level, p.width, p.height,
                    p.bits_per_coded_sample, p.video_delay, p.color_range, p.color_space,
                    p.extradata_size);
  };
  return coding(a) == coding(b) &&
         (a.extradata_size == 0 ||
          std::memcmp(a.extradata, b.extradata, static_cast<std::size_t>(a.extradata_size)) == 0);
}

}  // namespace

OpenCodec CodecShelf::take(const AVCodecParameters& coding,
                           AVRational time_base,
                           const std::filesystem::path& path) {
  std::optional<OpenCodec> found;
  {
    const std::lock_guard lock(mutex_);
    const auto at = std::find_if(kept_.begin(), kept_.end(), [&](const OpenCodec& codec) {
      return are_alike(*codec.opened_for.get(), coding);
    });
    if (at != kept_.end()) {
      found = std::move(*at);
      kept_.erase(at);
    }
  }
  if (!found) return open_video_codec(coding, time_base, path);
  avcodec_flush_buffers(found->codec.get());
  found->codec.get()->pkt_timebase = time_base;
  return std::move(*found);
}

std::size_t CodecShelf::size() const {
  const std::lock_guard lock(mutex_);
  return kept_.size();
}

void CodecShelf::keep(OpenCodec codec) {
  std::list<OpenCodec> surplus;  // freed without the lock
  const std::lock_guard lock(mutex_);
  kept_.push_front(std::move(codec));
  if (kept_.size() > max_codecs_) surplus.splice(surplus.begin(), kept_, std::prev(kept_.end()));
}

}  // namespace wam
