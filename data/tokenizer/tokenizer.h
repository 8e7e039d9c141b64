#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace wam {

// The reference pads and cuts every prompt to this many tokens (Wan2.1 text_len).
inline constexpr std::int64_t kMaxTextTokens = 512;

// A SentencePiece model and the text cleaning in front of it (clean_text.h).
//
// Source: Wan2.1 wan/modules/tokenizers.py @ 9737cba over google/umt5-xxl (T5: no first piece, the
//         end piece appended). The ids of the special pieces come from the model file.
// Threads: all members may be called from any thread.
class Tokenizer {
 public:
  // Errors: DataError when the file is missing, is no SentencePiece model, or has no end piece.
  explicit Tokenizer(const std::filesystem::path& model);
  ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;
  Tokenizer(Tokenizer&&) = delete;
  Tokenizer& operator=(Tokenizer&&) = delete;

  // clean_text(text), cut into pieces, and the end piece: at most kMaxTextTokens ids, the end piece
  // always among them; not padded. An empty text is the end piece alone.
  // Errors: DataError as clean_text, and for text that spells a special piece ("</s>"), which the
  //         reference's tokenizer would take for that piece.
  [[nodiscard]] std::vector<std::int64_t> encode(const std::string& text) const;
  // The same for text that is clean already.
  [[nodiscard]] std::vector<std::int64_t> encode_clean(const std::string& clean) const;
  // The text of `ids`, special pieces left out.
  [[nodiscard]] std::string decode(const std::vector<std::int64_t>& ids) const;

  // Pieces in the model; the text encoder needs at least as many rows.
  [[nodiscard]] std::int64_t vocabulary_size() const;
  [[nodiscard]] std::int64_t end_id() const;
  [[nodiscard]] std::int64_t unknown_id() const;
  // -1 when the model has none.
  [[nodiscard]] std::int64_t padding_id() const;
  // Changes with the model file and with the rules of cleaning and cutting.
  [[nodiscard]] const std::string& fingerprint() const noexcept { return fingerprint_; }

 private:
  struct Model;
  std::filesystem::path path_;
  std::unique_ptr<Model> model_;
  std::string fingerprint_;
};

}  // namespace wam
