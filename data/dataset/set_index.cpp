#include "data/dataset/set_index.h"

#include <cstring>
#include <optional>
#include <string_view>

#include <unistd.h>

#include "core/base/errors.h"
#include "core/base/host_name.h"
#include "core/base/now_reading.h"
#include "core/io/atomic_file.h"
#include "core/io/hash.h"

namespace wam {
namespace {

constexpr std::string_view kMagic = "wam-set-index-1\n";

// Numbers and texts one after the other, in this machine's byte order.
class Packer {
 public:
  void number(std::int64_t value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(const std::string& value) {
    number(static_cast<std::int64_t>(value.size()));
    bytes_ += value;
  }
  void runs(const std::vector<FrameRun>& values) {
    number(static_cast<std::int64_t>(values.size()));
    for (const FrameRun& run : values) {
      number(run.begin);
      number(run.value);
    }
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// The way back. After bytes that do not fit, ok() is false and all values are empty.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return bytes_.empty(); }

  std::int64_t number() {
    std::int64_t value = 0;
    if (bytes_.size() < sizeof value) {
      fail();
      return 0;
    }
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
    return value;
  }
  // Of things that take at least `bytes` each.
  std::size_t count(std::size_t bytes) {
    const std::int64_t value = number();
    if (value < 0 || static_cast<std::size_t>(value) > bytes_.size() / bytes) fail();
    return ok_ ? static_cast<std::size_t>(value) : 0;
  }
  std::string text() {
    const std::size_t size = count(1);
    std::string out(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return out;
  }
  std::vector<FrameRun> runs() {
    std::vector<FrameRun> out(count(2 * sizeof(std::int64_t)));
    for (FrameRun& run : out) {
      run.begin = number();
      run.value = number();
    }
    return out;
  }

 private:
  void fail() {
    ok_ = false;
    bytes_ = {};
  }
  std::string_view bytes_;
  bool ok_ = true;
};

std::string packed(const SetFacts& facts, const std::string& fingerprint) {
  Packer out;
  out.text(fingerprint);
  out.number(static_cast<std::int64_t>(facts.texts.size()));
  for (const auto& text : facts.texts) out.text(text);
  out.number(static_cast<std::int64_t>(facts.episodes.size()));
  for (const EpisodeFacts& episode : facts.episodes) {
    out.number(episode.length);
    out.runs(episode.labels);
    out.number(static_cast<std::int64_t>(episode.language.size()));
    for (const auto& runs : episode.language) out.runs(runs);
  }
  return out.bytes();
}

struct Unpacked {
  std::string fingerprint;
  SetFacts facts;
};

std::optional<Unpacked> unpacked(std::string_view bytes) {
  Unpacker in(bytes);
  Unpacked out;
  out.fingerprint = in.text();
  out.facts.texts.resize(in.count(sizeof(std::int64_t)));
  for (auto& text : out.facts.texts) text = in.text();
  out.facts.episodes.resize(in.count(3 * sizeof(std::int64_t)));
  for (EpisodeFacts& episode : out.facts.episodes) {
    episode.length = in.number();
    episode.labels = in.runs();
    episode.language.resize(in.count(sizeof(std::int64_t)));
    for (auto& runs : episode.language) runs = in.runs();
  }
  if (!in.ok() || !in.at_end()) return std::nullopt;
  return out;
}

void add_text(StreamHash& hash, const std::string& text) {
  hash.update(text.c_str(), text.size() + 1);  // with its end
}

using Paths = std::vector<std::filesystem::path>;

void add_contents(StreamHash& hash, const Paths& files, const std::filesystem::path& root) {
  for (const auto& file : files) {
    const Reading reading(file);
    add_text(hash, file.lexically_relative(root).string());
    add_text(hash, hash_hex(file_hash(file.string())));
  }
}

void add_sizes(StreamHash& hash, const Paths& files, const std::filesystem::path& root) {
  for (const auto& file : files) {
    const Reading reading(file);
    std::error_code missing;
    add_text(hash, file.lexically_relative(root).string());
    add_text(hash, std::to_string(std::filesystem::file_size(file, missing)));
  }
}

// What the facts were made of: metadata by content, tables by relative path and size.
std::string fingerprint_of(const LeRobotReader& reader, const Binding& binding) {
  StreamHash hash;
  add_text(hash, reader.filter().describe());
  add_text(hash, binding.span);
  for (const auto& column : binding.language) add_text(hash, column);
  add_contents(hash, reader.meta_files(), reader.meta().root);
  add_sizes(hash, reader.table_files(), reader.meta().root);
  return hash_hex(hash.digest());
}

// The facts in an index, if it is whole and of this fingerprint.
std::optional<SetFacts> read_index(const std::filesystem::path& file,
                                   const std::string& fingerprint,
                                   const std::function<void(const std::string&)>& note) {
  if (!std::filesystem::exists(file)) return std::nullopt;
  const Reading reading(file);
  const std::string whole = read_file(file);
  const std::string_view bytes = whole;
  std::uint64_t digest = 0;
  std::optional<Unpacked> found;
  if (bytes.size() > kMagic.size() + sizeof digest && bytes.substr(0, kMagic.size()) == kMagic) {
    const auto content = bytes.substr(kMagic.size(), bytes.size() - kMagic.size() - sizeof digest);
    std::memcpy(&digest, content.data() + content.size(), sizeof digest);
    if (content_hash(content.data(), content.size()) == digest) found = unpacked(content);
  }
  if (!found) {
    note(fmt::format("the index {} is damaged or of another version; built anew", file.string()));
  } else if (found->fingerprint != fingerprint) {
    note(fmt::format("the dataset has changed since {} was built; built anew", file.string()));
    found.reset();
  }
  if (!found) return std::nullopt;
  return std::move(found->facts);
}

void write_index(const std::filesystem::path& file,
                 const SetFacts& facts,
                 const std::string& fingerprint) {
  std::filesystem::create_directories(file.parent_path());
  // A name of its own for every process: several may build the same index.
  const auto part =
      file.string() + fmt::format(".{}.{}.tmp", host_name().value_or("host"), ::getpid());
  const std::string content = packed(facts, fingerprint);
  const std::uint64_t digest = content_hash(content.data(), content.size());
  try {
    OutputFile out(part);
    out.write(kMagic.data(), kMagic.size());
    out.write(content.data(), content.size());
    out.write(&digest, sizeof digest);
    out.finish();
    std::filesystem::rename(part, file);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(part, ignored);
    throw;
  }
}

}  // namespace

std::string files_fingerprint(const LeRobotReader& reader,
                              const std::vector<std::string>& cameras) {
  const auto& root = reader.meta().root;
  StreamHash hash;
  add_contents(hash, reader.meta_files(), root);
  for (const char* name : {"modality.json", "step_filter.jsonl"}) {
    const auto file = root / "meta" / name;
    if (std::filesystem::exists(file)) add_contents(hash, {file}, root);
  }
  add_sizes(hash, reader.table_files(), root);
  for (const auto& camera : cameras) add_sizes(hash, reader.video_files(camera), root);
  return hash_hex(hash.digest());
}

std::filesystem::path set_index_file(const LeRobotReader& reader,
                                     const Binding& binding,
                                     const std::filesystem::path& folder) {
  std::string key = std::filesystem::weakly_canonical(reader.meta().root).string() + '\n';
  key += reader.filter().describe() + '\n' + binding.span + '\n';
  for (const auto& column : binding.language) key += column + '\n';
  return folder / fmt::format("{}-{}.index", reader.meta().name(),
                              hash_hex(content_hash(key.data(), key.size())));
}

SetFacts indexed_facts(const LeRobotReader& reader,
                       const Binding& binding,
                       std::int64_t threads,
                       const SetIndexOptions& options) {
  if (options.folder.empty()) return read_facts(reader, binding, threads, options.on_progress);
  const auto note = [&](const std::string& line) {
    if (options.on_note) options.on_note(line);
  };
  const auto file = set_index_file(reader, binding, options.folder);
  const std::string fingerprint = fingerprint_of(reader, binding);
  if (auto kept = read_index(file, fingerprint, note)) return std::move(*kept);
  SetFacts facts = read_facts(reader, binding, threads, options.on_progress);
  if (!options.keep) return facts;
  try {
    write_index(file, facts, fingerprint);
  } catch (const DeviceError& error) {
    note(
        fmt::format("the index of {} cannot be kept, and the next start reads all tables again: {}",
                    reader.meta().root.string(), error.what()));
  } catch (const std::filesystem::filesystem_error& error) {
    note(
        fmt::format("the index of {} cannot be kept, and the next start reads all tables again: {}",
                    reader.meta().root.string(), error.what()));
  }
  return facts;
}

}  // namespace wam
