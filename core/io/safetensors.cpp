#include "core/io/safetensors.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/errors.h"
#include "core/base/names.h"
#include "core/io/atomic_file.h"
#include "core/io/hash.h"

namespace wam {
namespace {

using Json = nlohmann::ordered_json;

const std::map<std::string, std::size_t>& dtype_table() {
  static const std::map<std::string, std::size_t> table{
      {"F64", 8}, {"F32", 4}, {"F16", 2},  {"BF16", 2},    {"I64", 8},
      {"I32", 4}, {"I16", 2}, {"I8", 1},   {"U8", 1},      {"U16", 2},
      {"U32", 4}, {"U64", 8}, {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}};
  return table;
}

std::int64_t element_count(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

// Elements of a shape that came from outside: nothing when it is negative or larger than any file.
std::optional<std::size_t> checked_count(const std::vector<std::int64_t>& shape) {
  constexpr std::size_t kMost = std::size_t{1} << 56;
  std::size_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    const auto size = static_cast<std::size_t>(extent);
    if (size != 0 && count > kMost / size) return std::nullopt;
    count *= size;
  }
  return count;
}

constexpr std::size_t kHeaderLengthBytes = 8;
constexpr std::size_t kMaxHeaderBytes = std::size_t{100} << 20;

TensorView read_view(const std::filesystem::path& path,
                     const std::string& name,
                     const Json& entry,
                     const std::byte* data,
                     std::size_t data_bytes) {
  TensorView view;
  view.dtype = entry.at("dtype").get<std::string>();
  view.shape = entry.at("shape").get<std::vector<std::int64_t>>();
  const auto begin = entry.at("data_offsets").at(0).get<std::size_t>();
  const auto end = entry.at("data_offsets").at(1).get<std::size_t>();
  const auto size = dtype_table().find(view.dtype);
  require<DataError>(size != dtype_table().end(), "opening {}: {} has unknown dtype {}.",
                     path.string(), name, view.dtype);
  require<DataError>(begin <= end && end <= data_bytes,
                     "opening {}: {} ends at byte {} of {}. The file was cut short. Fix: fetch "
                     "or write it again.",
                     path.string(), name, end, data_bytes);
  const auto count = checked_count(view.shape);
  require<DataError>(count.has_value() && end - begin == *count * size->second,
                     "opening {}: {} has {} bytes for shape [{}] of {}.", path.string(), name,
                     end - begin, fmt::join(view.shape, ", "), view.dtype);
  view.data = data + begin;
  view.bytes = end - begin;
  return view;
}

// No byte belongs to two tensors.
void check_overlap(const std::filesystem::path& path,
                   const std::map<std::string, TensorView>& tensors) {
  std::vector<std::pair<const TensorView*, const std::string*>> by_place;
  for (const auto& [name, view] : tensors) {
    if (view.bytes > 0) by_place.emplace_back(&view, &name);
  }
  std::sort(by_place.begin(), by_place.end(),
            [](const auto& a, const auto& b) { return a.first->data < b.first->data; });
  for (std::size_t i = 1; i < by_place.size(); ++i) {
    const TensorView& before = *by_place[i - 1].first;
    require<DataError>(before.data + before.bytes <= by_place[i].first->data,
                       "opening {}: {} and {} share bytes. The header is damaged.", path.string(),
                       *by_place[i - 1].second, *by_place[i].second);
  }
}

}  // namespace

std::size_t dtype_bytes(const std::string& dtype) {
  const auto at = dtype_table().find(dtype);
  require<InvariantError>(at != dtype_table().end(), "unknown safetensors dtype {}", dtype);
  return at->second;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : path_(path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  require<DataError>(descriptor >= 0, "opening {}: {}.", path.string(), std::strerror(errno));
  struct stat info {};
  const bool ok = ::fstat(descriptor, &info) == 0;
  map_bytes_ = ok ? static_cast<std::size_t>(info.st_size) : 0;
  if (map_bytes_ >= kHeaderLengthBytes) {
    map_ = ::mmap(nullptr, map_bytes_, PROT_READ, MAP_PRIVATE, descriptor, 0);
  }
  ::close(descriptor);
  require<DataError>(map_ != nullptr && map_ != MAP_FAILED,
                     "opening {}: {} bytes cannot be mapped as a safetensors file.", path.string(),
                     map_bytes_);
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, map_, kHeaderLengthBytes);
  if (header_bytes > kMaxHeaderBytes || header_bytes > map_bytes_ - kHeaderLengthBytes) {
    ::munmap(map_, map_bytes_);
    throw DataError(fmt::format(
        "opening {}: its header claims {} bytes, the file has {}. It is not a safetensors file, or "
        "it was cut short. Fix: fetch or write it again.",
        path.string(), header_bytes, map_bytes_));
  }
  try {
    parse(static_cast<const char*>(map_) + kHeaderLengthBytes, header_bytes,
          map_bytes_ - kHeaderLengthBytes - header_bytes);
  } catch (...) {
    ::munmap(map_, map_bytes_);
    throw;
  }
}

SafetensorsFile::~SafetensorsFile() {
  ::munmap(map_, map_bytes_);
}

void SafetensorsFile::parse(const char* header, std::size_t header_bytes, std::size_t data_bytes) {
  const auto* data = reinterpret_cast<const std::byte*>(header + header_bytes);
  const Json json = Json::parse(header, header + header_bytes, nullptr, false);
  require<DataError>(json.is_object(), "opening {}: its header is not a JSON object.",
                     path_.string());
  try {
    for (const auto& [name, entry] : json.items()) {
      if (name == "__metadata__") {
        for (const auto& [key, value] : entry.items()) metadata_[key] = value.get<std::string>();
        continue;
      }
      const TensorView view = read_view(path_, name, entry, data, data_bytes);
      tensors_.emplace(name, view);
    }
    check_overlap(path_, tensors_);
  } catch (const nlohmann::json::exception& e) {
    throw DataError(fmt::format("opening {}: malformed header ({}).", path_.string(), e.what()));
  }
}

const TensorView& SafetensorsFile::at(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found != tensors_.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& entry : tensors_) names.push_back(entry.first);
  const auto near = nearest_name(name, names);
  throw DataError(fmt::format("reading {}: no tensor named {}{}.", path_.string(), name,
                              near ? fmt::format(" (nearest: {})", *near) : ""));
}

struct SafetensorsWriter::Impl {
  explicit Impl(const std::filesystem::path& path) : file(path) {}
  OutputFile file;
  StreamHash hash;
  std::uint64_t expected_bytes = 0;

  void put(const void* data, std::size_t bytes) {
    hash.update(data, bytes);
    file.write(data, bytes);
  }
};

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path,
                                     std::vector<TensorHeader> headers,
                                     const std::map<std::string, std::string>& metadata)
    : impl_(std::make_unique<Impl>(path)) {
  Json json = Json::object();
  if (!metadata.empty()) json["__metadata__"] = metadata;
  std::uint64_t offset = 0;
  for (const auto& header : headers) {
    const std::uint64_t bytes =
        static_cast<std::uint64_t>(element_count(header.shape)) * dtype_bytes(header.dtype);
    json[header.name] = {{"dtype", header.dtype},
                         {"shape", header.shape},
                         {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text = json.dump();
  // Readers map the data in place: keep it aligned for the widest vector load.
  constexpr std::size_t kAlign = 64;
  while ((text.size() + kHeaderLengthBytes) % kAlign != 0) text += ' ';
  const std::uint64_t length = text.size();
  impl_->put(&length, kHeaderLengthBytes);
  impl_->put(text.data(), text.size());
  impl_->expected_bytes = kHeaderLengthBytes + text.size() + offset;
}

SafetensorsWriter::~SafetensorsWriter() = default;

void SafetensorsWriter::write_next(const void* data, std::size_t bytes) {
  impl_->put(data, bytes);
}

std::uint64_t SafetensorsWriter::finish(const std::function<void()>& moved) {
  require<InvariantError>(impl_->file.bytes_written() == impl_->expected_bytes,
                          "a safetensors file of {} bytes got {}", impl_->expected_bytes,
                          impl_->file.bytes_written());
  impl_->file.finish(moved);
  return impl_->hash.digest();
}

}  // namespace wam
