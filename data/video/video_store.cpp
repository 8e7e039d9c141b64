#include "data/video/video_store.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <string>

#include "core/base/lru_cache.h"
#include "data/video/codec_shelf.h"
#include "data/video/video_decoder.h"

namespace wam {
namespace {

constexpr std::size_t kLeastIndexBytes = std::size_t{16} << 10U;

}  // namespace

struct VideoStore::Impl {
  explicit Impl(const Options& options)
      : max_idle(options.max_idle_decoders),
        indices(options.index_bytes, kLeastIndexBytes),
        codecs(options.max_idle_decoders) {}

  std::size_t max_idle;
  LruCache<std::string, const VideoIndex> indices;
  CodecShelf codecs;
  std::mutex mutex;
  std::list<std::unique_ptr<VideoDecoder>> idle;  // latest use first

  std::shared_ptr<const VideoIndex> index(const std::filesystem::path& path);
  std::unique_ptr<VideoDecoder> take(const std::filesystem::path& path);
  void give_back(std::unique_ptr<VideoDecoder> decoder);
};

std::shared_ptr<const VideoIndex> VideoStore::Impl::index(const std::filesystem::path& path) {
  return indices.get(path.string(), [&] {
    auto made = std::make_shared<const VideoIndex>(read_video_index(path));
    const std::size_t bytes = made->bytes();
    return LruCache<std::string, const VideoIndex>::Made{std::move(made), bytes};
  });
}

std::unique_ptr<VideoDecoder> VideoStore::Impl::take(const std::filesystem::path& path) {
  {
    const std::lock_guard lock(mutex);
    const auto found = std::find_if(idle.begin(), idle.end(),
                                    [&](const auto& d) { return d->index().path == path; });
    if (found != idle.end()) {
      auto decoder = std::move(*found);
      idle.erase(found);
      return decoder;
    }
  }
  return std::make_unique<VideoDecoder>(index(path), &codecs);
}

void VideoStore::Impl::give_back(std::unique_ptr<VideoDecoder> decoder) {
  std::unique_ptr<VideoDecoder> surplus;
  {
    const std::lock_guard lock(mutex);
    idle.push_front(std::move(decoder));
    if (idle.size() <= max_idle) return;
    surplus = std::move(idle.back());
    idle.pop_back();
  }
  VideoDecoder::close(std::move(surplus), codecs);
}

VideoStore::VideoStore(const Options& options) : impl_(std::make_unique<Impl>(options)) {}
VideoStore::~VideoStore() = default;

std::shared_ptr<const VideoIndex> VideoStore::index(const std::filesystem::path& path) const {
  return impl_->index(path);
}

at::Tensor VideoStore::read_rgb(const std::filesystem::path& path,
                                std::span<const std::int64_t> ordinals) const {
  auto decoder = impl_->take(path);
  at::Tensor rgb_THWC = decoder->read_rgb(ordinals);  // a decoder that throws is not kept
  impl_->give_back(std::move(decoder));
  return rgb_THWC;
}

std::size_t VideoStore::num_idle_decoders() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->idle.size();
}

}  // namespace wam
