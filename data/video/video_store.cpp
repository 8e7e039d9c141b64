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
  struct Idle {
    std::unique_ptr<VideoDecoder> decoder;
    std::thread::id user;  // the last
  };
  using IdleList = std::list<Idle>;

  explicit Impl(const Options& options)
      : max_decoders(options.max_decoders), indices(options.index_bytes, kLeastIndexBytes) {}

  std::size_t max_decoders;
  LruCache<std::string, const VideoIndex> indices;
  std::mutex mutex;
  std::size_t num_calls = 0;  // that have a decoder, or will
  IdleList idle;              // latest use first

  std::shared_ptr<const VideoIndex> index(const std::filesystem::path& path);
  void count_calls(std::int64_t more);
  std::unique_ptr<VideoDecoder> idle_one(const std::filesystem::path& path);
  std::unique_ptr<VideoDecoder> spare_one(const VideoIndex& file);
  std::unique_ptr<VideoDecoder> taken(IdleList::iterator at);
  std::unique_ptr<VideoDecoder> open_one(const std::filesystem::path& path);
  void give_back(std::unique_ptr<VideoDecoder> decoder);
};

std::shared_ptr<const VideoIndex> VideoStore::Impl::index(const std::filesystem::path& path) {
  return indices.get(path.string(), [&] {
    auto made = std::make_shared<const VideoIndex>(read_video_index(path));
    const std::size_t bytes = made->bytes();
    return LruCache<std::string, const VideoIndex>::Made{std::move(made), bytes};
  });
}

std::unique_ptr<VideoDecoder> VideoStore::Impl::taken(IdleList::iterator at) {
  auto decoder = std::move(at->decoder);
  idle.erase(at);
  return decoder;
}

// Of this file, or null.
std::unique_ptr<VideoDecoder> VideoStore::Impl::idle_one(const std::filesystem::path& path) {
  const std::lock_guard lock(mutex);
  const auto found = std::find_if(idle.begin(), idle.end(),
                                  [&](const Idle& i) { return i.decoder->index().path == path; });
  return found == idle.end() ? nullptr : taken(found);
}

// For another file. Null while there may be one more.
std::unique_ptr<VideoDecoder> VideoStore::Impl::spare_one(const VideoIndex& file) {
  const std::lock_guard lock(mutex);
  if (idle.size() + num_calls <= max_decoders || idle.empty()) return nullptr;
  std::vector<IdleList::iterator> own;
  std::vector<IdleList::iterator> all;
  for (auto at = idle.begin(); at != idle.end(); ++at) {
    all.push_back(at);
    if (at->user == std::this_thread::get_id()) own.push_back(at);
  }
  // What a thread allocates comes from memory of its own: where decoders wander between threads,
  // each of them in time holds what all need at once.
  for (const auto* group : {&own, &all}) {
    const auto half = group->rbegin() + static_cast<std::ptrdiff_t>((group->size() + 1) / 2);
    const auto alike = std::find_if(
        group->rbegin(), half, [&](const auto& at) { return at->decoder->is_coded_like(file); });
    if (alike != half) return taken(*alike);
  }
  return taken(own.empty() ? all.back() : own.back());
}

std::unique_ptr<VideoDecoder> VideoStore::Impl::open_one(const std::filesystem::path& path) {
  auto file = index(path);
  auto decoder = spare_one(*file);
  if (decoder) {
    decoder->reopen(std::move(file));
  } else {
    decoder = std::make_unique<VideoDecoder>(std::move(file));
  }
  return decoder;
}

// Frees one too many without the lock.
void VideoStore::Impl::give_back(std::unique_ptr<VideoDecoder> decoder) {
  const std::lock_guard lock(mutex);
  if (idle.size() + num_calls > max_decoders) return;
  idle.push_front({std::move(decoder), std::this_thread::get_id()});
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
  auto decoder = impl_->idle_one(path);
  if (!decoder) decoder = impl_->open_one(path);
  at::Tensor rgb_THWC = decoder->read_rgb(ordinals);  // a decoder that throws is not kept
  impl_->give_back(std::move(decoder));
  return rgb_THWC;
}

std::size_t VideoStore::num_idle_decoders() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->idle.size();
}

}  // namespace wam
