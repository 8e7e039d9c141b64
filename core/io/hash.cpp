#include "core/io/hash.h"

#include <cstdio>
#include <vector>

#include <xxhash.h>

#include "core/base/errors.h"
#include "core/base/unique_handle.h"

namespace wam {
namespace {

void close_file(std::FILE* file) noexcept {
  std::fclose(file);
}

}  // namespace

struct StreamHash::State {
  XXH3_state_t* xxh = XXH3_createState();
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  State(State&&) = delete;
  State& operator=(State&&) = delete;
  ~State() { XXH3_freeState(xxh); }
};

StreamHash::StreamHash() : state_(std::make_unique<State>()) {
  XXH3_64bits_reset(state_->xxh);
}
StreamHash::~StreamHash() = default;

void StreamHash::update(const void* data, std::size_t bytes) {
  XXH3_64bits_update(state_->xxh, data, bytes);
}

std::uint64_t StreamHash::digest() const {
  return XXH3_64bits_digest(state_->xxh);
}

std::uint64_t content_hash(const void* data, std::size_t bytes) {
  return XXH3_64bits(data, bytes);
}

std::uint64_t file_hash(const std::string& path,
                        const std::function<void(std::size_t bytes)>& on_bytes) {
  const UniqueHandle<std::FILE*, close_file> file(std::fopen(path.c_str(), "rb"));
  require<DataError>(static_cast<bool>(file), "hashing {}: the file cannot be opened.", path);
  StreamHash hash;
  std::vector<char> buffer(std::size_t{1} << 22);
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
    hash.update(buffer.data(), got);
    if (on_bytes) on_bytes(got);
  }
  require<DataError>(std::ferror(file.get()) == 0, "hashing {}: reading failed.", path);
  return hash.digest();
}

std::string hash_hex(std::uint64_t hash) {
  return fmt::format("{:016x}", hash);
}

}  // namespace wam
