#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/base/log.h"
#include "core/train/dataset.h"
#include "data/text_cache/text_pack.h"
#include "data/tokenizer/tokenizer.h"

namespace wam {

// Embeds prompts: token ids, end piece included and not padded, to (B, L, width) in any floating
// type on any device, L at least the longest list; rows past a prompt's length are not read.
using EncodeText = std::function<at::Tensor(const std::vector<std::vector<std::int64_t>>& ids)>;

// Text embeddings of a run's prompts, computed once and kept on disk.
//
// Only the valid rows are stored, in bf16, keyed by the text encoder's weights, the tokenizer and
// the cleaned text. A folder may be shared by runs and filled by several processes at once. Packs
// whose hashes do not hold are set aside (renamed to *.corrupt) and their prompts computed again.
// Each prompt is embedded alone at its own length: its bits do not depend on its neighbours.
// Threads: `missing` and `fill` from one thread; afterwards `rows` and `width` from any.
class TextCache : public TextEmbeddings {
 public:
  struct Options {
    std::filesystem::path folder;
    std::string weights;     // fingerprint of the text encoder's weights and configuration
    std::int64_t width = 0;  // of the embeddings
    // Told after each prompt that is computed; may be empty.
    std::function<void(std::int64_t done, std::int64_t total)> on_progress = {};
  };
  // `tokenizer` and `log` must outlive the cache. Errors: DeviceError when the folder cannot be
  // made.
  TextCache(Options options, const Tokenizer& tokenizer, Log& log);

  // The prompts (one for each distinct cleaned text, in order) that `fill` would have to compute.
  // When there is none, the text encoder is not needed, and `rows` knows all of `prompts`.
  // Errors: DataError for text that cannot be cleaned (clean_text.h).
  std::vector<std::string> missing(const std::vector<std::string>& prompts);

  // Computes and stores what is missing; afterwards `rows` knows all of `prompts`. The log says how
  // much it is first. Errors: as missing; DataError when an embedding is not finite; DeviceError
  // when the disk has no room for it; InvariantError for a result of another shape.
  void fill(const std::vector<std::string>& prompts, const EncodeText& encode);

  [[nodiscard]] at::Tensor rows(const std::string& prompt) const override;
  [[nodiscard]] std::int64_t width() const override { return options_.width; }
  // Where this encoder's and tokenizer's packs are.
  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }

 private:
  struct Pack {
    enum class State { kUnread, kGood, kDamaged };
    std::shared_ptr<const TextPack> file;
    State state = State::kUnread;
  };
  void scan();
  void add_pack(const std::filesystem::path& path);
  void set_aside(const std::filesystem::path& path, const std::string& why);
  // The pack that holds `key`, its hashes checked; null when there is none.
  std::shared_ptr<const TextPack> find(const std::string& key);
  const std::string& clean(const std::string& prompt);
  // Of the embeddings of these prompts.
  [[nodiscard]] std::uint64_t bytes_of(const std::vector<std::string>& prompts);
  [[nodiscard]] TextEntry embed(const std::string& text, const EncodeText& encode) const;
  void compute(const std::vector<std::string>& prompts, const EncodeText& encode);
  void store(std::vector<TextEntry>& entries);

  Options options_;
  const Tokenizer& tokenizer_;
  Log& log_;
  std::filesystem::path folder_;
  std::unordered_set<std::string> seen_files_;
  std::unordered_map<std::string, std::vector<std::shared_ptr<Pack>>> packs_of_;  // by key
  std::unordered_map<std::string, std::string> cleaned_;                          // by prompt
  std::unordered_map<std::string, at::Tensor> rows_;                              // by prompt
};

}  // namespace wam
