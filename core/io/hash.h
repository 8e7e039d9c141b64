#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace wam {

// XXH3, 64 bits.
std::uint64_t content_hash(const void* data, std::size_t bytes);
// `on_bytes` hears of each few MiB that have been hashed. Errors: DataError when the file cannot be
// read.
std::uint64_t file_hash(const std::string& path,
                        const std::function<void(std::size_t bytes)>& on_bytes = {});
// 16 lower-case hex digits, as manifests and cache keys hold them.
std::string hash_hex(std::uint64_t hash);

// The same hash over pieces.
class StreamHash {
 public:
  StreamHash();
  ~StreamHash();
  StreamHash(const StreamHash&) = delete;
  StreamHash& operator=(const StreamHash&) = delete;
  StreamHash(StreamHash&&) = delete;
  StreamHash& operator=(StreamHash&&) = delete;
  void update(const void* data, std::size_t bytes);
  [[nodiscard]] std::uint64_t digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace wam
