#include "data/video/video_store.h"

#include <algorithm>
#include <iterator>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/base/lru_cache.h"
#include "data/video/video_decoder.h"

namespace wam {
namespace {

constexpr std::size_t kLeastIndexBytes = std::size_t{16} << 10U;

}  // namespace

struct VideoStore::Impl {
  // With the thread that opened it. What a thread allocates comes from memory of its own: where
  // decoders wander between threads, each thread's memory grows to what it ever had of them.
  struct Decoder {
    std::unique_ptr<VideoDecoder> decoder;
    std::thread::id opener;
  };

  explicit Impl(const Options& options)
      : max_decoders(options.max_decoders), indices(options.index_bytes, kLeastIndexBytes) {}

  std::size_t max_decoders;
  LruCache<std::string, const VideoIndex> indices;
  std::mutex mutex;
  std::size_t num_calls = 0;  // that have a decoder, or will
  std::list<Decoder> idle;    // latest use first

  std::shared_ptr<const VideoIndex> index(const std::filesystem::path& path);
  void count_calls(std::int64_t more);
  Decoder idle_one(const std::filesystem::path& path);
  Decoder spare_one(const VideoIndex& file);
  Decoder taken(std::list<Decoder>::iterator at);
  Decoder open_one(const std::filesystem::path& path);
  void give_back(Decoder decoder);
};

std::shared_ptr<const VideoIndex> VideoStore::Impl::index(const std::filesystem::path& path) {
  return indices.get(path.string(), [&] {
    auto made = std::make_shared<const VideoIndex>(read_video_index(path));
    const std::size_t bytes = made->bytes();
    return LruCache<std::string, const VideoIndex>::Made{std::move(made), bytes};
  });
}

VideoStore::Impl::Decoder VideoStore::Impl::taken(std::list<Decoder>::iterator at) {
  Decoder out = std::move(*at);
  idle.erase(at);
  return out;
}

// Of this file, this thread's rather than another's; or none.
VideoStore::Impl::Decoder VideoStore::Impl::idle_one(const std::filesystem::path& path) {
  const std::lock_guard lock(mutex);
  auto found = idle.end();
  for (auto at = idle.begin(); at != idle.end(); ++at) {
    if (at->decoder->index().path != path) continue;
    found = at;
    if (at->opener == std::this_thread::get_id()) break;
  }
  return found == idle.end() ? Decoder{} : taken(found);
}

// For another file: of this thread's, in the half that was not used for longest, the last whose
// context serves it, else the very last. None while there may be one more.
VideoStore::Impl::Decoder VideoStore::Impl::spare_one(const VideoIndex& file) {
  const std::lock_guard lock(mutex);
  if (idle.size() + num_calls <= max_decoders || idle.empty()) return {};
  std::vector<std::list<Decoder>::iterator> own;  // the longest unused first
  for (auto at = idle.end(); at != idle.begin();) {
    --at;
    if (at->opener == std::this_thread::get_id()) own.push_back(at);
  }
  if (own.empty()) return taken(std::prev(idle.end()));
  const auto half = own.begin() + static_cast<std::ptrdiff_t>((own.size() + 1) / 2);
  const auto alike =
      std::find_if(own.begin(), half, [&](auto at) { return at->decoder->is_coded_like(file); });
  return taken(alike == half ? own.front() : *alike);
}

VideoStore::Impl::Decoder VideoStore::Impl::open_one(const std::filesystem::path& path) {
  auto file = index(path);
  Decoder out = spare_one(*file);
  out.opener = std::this_thread::get_id();
  if (out.decoder) {
    out.decoder->reopen(std::move(file));
  } else {
    out.decoder = std::make_unique<VideoDecoder>(std::move(file));
  }
  return out;
}

// Frees one too many without the lock.
void VideoStore::Impl::give_back(Decoder decoder) {
  const std::lock_guard lock(mutex);
  if (idle.size() + num_calls <= max_decoders) idle.push_front(std::move(decoder));
}

void VideoStore::Impl::count_calls(std::int64_t more) {
  const std::lock_guard lock(mutex);
  num_calls += static_cast<std::size_t>(more);
}

VideoStore::VideoStore(const Options& options) : impl_(std::make_unique<Impl>(options)) {}
VideoStore::~VideoStore() = default;

std::shared_ptr<const VideoIndex> VideoStore::index(const std::filesystem::path& path) const {
  return impl_->index(path);
}

at::Tensor VideoStore::read_rgb(const std::filesystem::path& path,
                                std::span<const std::int64_t> ordinals) const {
  struct Call {
    explicit Call(Impl& impl) : impl_(impl) { impl_.count_calls(1); }
    ~Call() { impl_.count_calls(-1); }
    Impl& impl_;
  } call(*impl_);
  Impl::Decoder one = impl_->idle_one(path);
  if (!one.decoder) one = impl_->open_one(path);
  at::Tensor rgb_THWC = one.decoder->read_rgb(ordinals);  // a decoder that throws is not kept
  impl_->give_back(std::move(one));
  return rgb_THWC;
}

std::size_t VideoStore::num_idle_decoders() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->idle.size();
}

}  // namespace wam
