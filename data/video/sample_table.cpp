#include "data/video/sample_table.h"

#include <cstring>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

namespace wam {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::uint64_t kMaxIndexBytes = std::uint64_t{1} << 30U;

std::uint64_t big_endian(Bytes bytes, std::size_t at, std::size_t count) {
  if (at + count > bytes.size()) return 0;  // callers check the size of what they need
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value = value << 8U | bytes[at + i];
  return value;
}

// The content of each box of `type` that lies directly in `parent`.
std::vector<Bytes> boxes(Bytes parent, std::string_view type) {
  std::vector<Bytes> found;
  while (parent.size() >= 8) {
    std::uint64_t size = big_endian(parent, 0, 4);
    std::size_t header = 8;
    if (size == 1) {
      size = big_endian(parent, 8, 8);
      header = 16;
    }
    if (size == 0) size = parent.size();
    if (size < header || size > parent.size()) break;
    if (std::memcmp(parent.data() + 4, type.data(), 4) == 0) {
      found.push_back(parent.subspan(header, size - header));
    }
    parent = parent.subspan(size);
  }
  return found;
}

// The box at the end of a path of types, the first of each; empty when there is none.
Bytes box(Bytes parent, std::initializer_list<std::string_view> types) {
  for (const auto type : types) {
    const auto found = boxes(parent, type);
    if (found.empty()) return {};
    parent = found.front();
  }
  return parent;
}

// The box moov, without the media around it.
std::vector<std::uint8_t> read_moov(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  const std::uint64_t end = std::filesystem::file_size(path, error);
  std::uint64_t at = 0;
  while (file && at + 8 <= end) {
    std::uint8_t head[16] = {};
    file.seekg(static_cast<std::streamoff>(at));
    file.read(reinterpret_cast<char*>(head), at + 16 <= end ? 16 : 8);
    std::uint64_t size = big_endian(head, 0, 4);
    if (size == 1) size = big_endian(head, 8, 8);
    if (size == 0) size = end - at;
    if (size < 8 || size > end - at) return {};
    if (std::memcmp(head + 4, "moov", 4) == 0 && size <= kMaxIndexBytes) {
      std::vector<std::uint8_t> out(size);
      file.seekg(static_cast<std::streamoff>(at));
      file.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(size));
      if (!file) out.clear();
      return out;
    }
    at += size;
  }
  return {};
}

Bytes find_track(Bytes moov, std::int64_t number) {
  for (const Bytes track : boxes(moov, "trak")) {
    const Bytes header = box(track, {"tkhd"});
    const bool is_long = !header.empty() && header[0] == 1;
    if (static_cast<std::int64_t>(big_endian(header, is_long ? 20 : 12, 4)) == number) return track;
  }
  return {};
}

// At most one edit that shows media; those before it only wait.
bool has_simple_edits(Bytes track) {
  const Bytes list = box(track, {"edts", "elst"});
  if (list.empty()) return true;
  const bool is_long = list[0] == 1;
  const std::size_t entry = is_long ? 20 : 12;
  const std::uint64_t count = big_endian(list, 4, 4);
  if (list.size() < 8 || count > (list.size() - 8) / entry) return false;
  std::size_t shown = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = 8 + i * entry + (is_long ? 8 : 4);
    const std::uint64_t time = big_endian(list, at, is_long ? 8 : 4);
    const bool waits = time == (is_long ? ~std::uint64_t{0} : std::uint64_t{0xffffffff});
    const bool at_rate = big_endian(list, 8 + (i + 1) * entry - 4, 4) == 0x10000;
    if (!at_rate) return false;
    shown += waits ? 0 : 1;
  }
  return shown <= 1;
}

std::optional<std::vector<std::int64_t>> offsets_of(Bytes table, std::uint64_t samples) {
  std::vector<std::int64_t> out;
  if (table.empty()) {
    out.assign(samples, 0);
    return out;
  }
  const std::uint64_t count = big_endian(table, 4, 4);
  if (table.size() < 8 || count > (table.size() - 8) / 8) return std::nullopt;
  out.reserve(samples);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t run = big_endian(table, 8 + 8 * i, 4);
    const auto offset = static_cast<std::int32_t>(big_endian(table, 12 + 8 * i, 4));
    if (offset < 0 || out.size() + run > samples) return std::nullopt;
    out.insert(out.end(), run, offset);
  }
  if (out.size() != samples) return std::nullopt;
  return out;
}

}  // namespace

std::optional<std::vector<std::int64_t>> read_composition_offsets(const std::filesystem::path& path,
                                                                  std::int64_t track_number) {
  const std::vector<std::uint8_t> file = read_moov(path);
  const Bytes moov = box(file, {"moov"});
  if (moov.empty() || !boxes(moov, "mvex").empty()) return std::nullopt;
  const Bytes track = find_track(moov, track_number);
  const Bytes table = box(track, {"mdia", "minf", "stbl"});
  const Bytes sizes = box(table, {"stsz"});
  if (sizes.size() < 12 || !has_simple_edits(track)) return std::nullopt;
  const std::uint64_t samples = big_endian(sizes, 8, 4);
  const bool has_sizes = big_endian(sizes, 4, 4) == 0;
  if (has_sizes && samples > (sizes.size() - 12) / 4) return std::nullopt;
  if (!has_sizes) return std::nullopt;  // raw media, where FFmpeg joins samples
  return offsets_of(box(table, {"ctts"}), samples);
}

}  // namespace wam
