#include "test/dataset/lerobot/expected_set.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <span>

#include <ATen/ops/empty.h>

extern "C" {
#include <libavutil/md5.h>
#include <libavutil/mem.h>
#include <libavutil/sha.h>
}

#include "core/base/errors.h"
#include "core/base/unique_handle.h"
#include "core/io/atomic_file.h"
#include "core/io/tensor_file.h"

namespace wam::test {
namespace {

void release_sha(AVSHA* sha) noexcept {
  av_free(sha);
}
void release_md5(AVMD5* hash) noexcept {
  av_free(hash);
}

std::string hex(std::span<const std::uint8_t> bytes) {
  std::string out;
  for (const std::uint8_t b : bytes) out += fmt::format("{:02x}", b);
  return out;
}

std::filesystem::path beside(const std::filesystem::path& root, const char* suffix) {
  return root.parent_path() / (root.filename().string() + suffix);
}

}  // namespace

ExpectedSet::ExpectedSet(const std::filesystem::path& root)
    : name_(root.filename().string()),
      reader_(std::make_unique<LeRobotReader>(root)),
      file_(std::make_unique<SafetensorsFile>(beside(root, ".expected.safetensors"))),
      json_(nlohmann::json::parse(read_file(beside(root, ".expected.json")))) {}

at::Tensor ExpectedSet::stored(const std::string& name) const {
  return map_tensor(file_->at(name)).clone();
}

bool ExpectedSet::has(const std::string& name) const {
  return file_->tensors().count(name) != 0;
}

std::vector<std::string> ExpectedSet::cameras() const {
  std::vector<std::string> out;
  for (const auto& [camera, entry] : positions().at(0).at("cameras").items()) out.push_back(camera);
  return out;
}

std::int64_t ExpectedSet::episode_idx(std::int64_t number) const {
  for (std::int64_t i = 0; i < reader_->num_episodes(); ++i) {
    if (reader_->episode_number(i) == number) return i;
  }
  throw DataError(fmt::format("{} has no episode {}", name_, number));
}

std::filesystem::path datasets_folder() {
  const char* folder = std::getenv("WAM_DATASETS_DIR");
  if (folder != nullptr && *folder != '\0') return folder;
  return std::filesystem::path(WAM_SOURCE_DIR) / ".." / "shared" / "data" / "lerobot";
}

std::vector<std::filesystem::path> set_folders() {
  std::vector<std::filesystem::path> out;
  const auto folder = datasets_folder();
  if (!std::filesystem::is_directory(folder)) {
    std::cout << "SKIPPED: no folder " << folder.string() << " (WAM_DATASETS_DIR names another)\n";
    return out;
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_directory() && std::filesystem::exists(beside(entry.path(), ".expected.json"))) {
      out.push_back(entry.path());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string sha256(const at::Tensor& bytes) {
  const at::Tensor flat = bytes.contiguous();
  const UniqueHandle<AVSHA*, release_sha> sha(av_sha_alloc());
  std::array<std::uint8_t, 32> digest{};
  av_sha_init(sha.get(), 256);
  av_sha_update(sha.get(), static_cast<const std::uint8_t*>(flat.data_ptr()), flat.nbytes());
  av_sha_final(sha.get(), digest.data());
  return hex(digest);
}

std::string md5(const std::vector<at::Tensor>& bytes) {
  const UniqueHandle<AVMD5*, release_md5> hash(av_md5_alloc());
  std::array<std::uint8_t, 16> digest{};
  av_md5_init(hash.get());
  for (const at::Tensor& part : bytes) {
    av_md5_update(hash.get(), static_cast<const std::uint8_t*>(part.data_ptr()), part.nbytes());
  }
  av_md5_final(hash.get(), digest.data());
  return hex(digest);
}

}  // namespace wam::test
