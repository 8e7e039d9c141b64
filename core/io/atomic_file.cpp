#include "core/io/atomic_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <unistd.h>

#include "core/base/errors.h"

namespace wam {
namespace {

void fail(const char* doing, const std::filesystem::path& path) {
  throw DeviceError(fmt::format("{} {}: {}.", doing, path.string(), std::strerror(errno)));
}

}  // namespace

OutputFile::OutputFile(const std::filesystem::path& path) : path_(path) {
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail("creating", path_);
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void OutputFile::write(const void* data, std::size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t done = ::write(descriptor_, at, bytes);
    if (done < 0) {
      if (errno == EINTR) continue;
      fail("writing", path_);
    }
    at += done;
    bytes -= static_cast<std::size_t>(done);
    written_ += static_cast<std::uint64_t>(done);
  }
}

void OutputFile::flush_by_pieces(const std::function<void()>& moved) {
  constexpr std::uint64_t kPiece = std::uint64_t{256} << 20;
  for (std::uint64_t at = 0; at < written_; at += kPiece) {
    moved();
    const int result = ::sync_file_range(
        descriptor_, static_cast<off64_t>(at), static_cast<off64_t>(kPiece),
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    // An error of the disk is told once. What cannot flush a range flushes all in fsync.
    if (result != 0 && (errno == EIO || errno == ENOSPC || errno == EDQUOT))
      fail("flushing", path_);
  }
}

void OutputFile::finish(const std::function<void()>& moved) {
  if (moved) flush_by_pieces(moved);
  if (::fsync(descriptor_) != 0) fail("flushing", path_);
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (::close(descriptor) != 0) fail("closing", path_);
}

void sync_to_disk(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail("flushing", path);
  const int result = ::fsync(descriptor);
  ::close(descriptor);
  if (result != 0) fail("flushing", path);
}

void write_file_atomically(const std::filesystem::path& path, std::string_view content) {
  const std::filesystem::path temporary = path.string() + ".tmp";
  OutputFile file(temporary);
  file.write(content.data(), content.size());
  file.finish();
  if (std::rename(temporary.c_str(), path.c_str()) != 0) fail("renaming into place", path);
  sync_to_disk(path.has_parent_path() ? path.parent_path() : ".");
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  require<DataError>(in.good(), "reading {}: the file cannot be opened ({}).", path.string(),
                     std::strerror(errno));
  std::ostringstream out;
  out << in.rdbuf();
  require<DataError>(!in.bad(), "reading {}: reading failed.", path.string());
  return std::move(out).str();
}

}  // namespace wam
