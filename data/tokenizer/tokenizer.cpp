#include "data/tokenizer/tokenizer.h"

#include <algorithm>

#include <sentencepiece_processor.h>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "core/io/hash.h"
#include "data/tokenizer/clean_text.h"

namespace wam {

struct Tokenizer::Model {
  sentencepiece::SentencePieceProcessor pieces;
  // Texts that the reference's tokenizer takes for special pieces wherever they stand.
  std::vector<std::string> reserved{"<extra_id_"};
};

namespace {

// Raised whenever clean_text or encode gives other ids for the same model file.
constexpr const char* kRules = "1";

std::int64_t spare_for_end() {
  return kMaxTextTokens - 1;
}

}  // namespace

Tokenizer::Tokenizer(const std::filesystem::path& model)
    : path_(model), model_(std::make_unique<Model>()) {
  const std::string bytes = read_file(model);
  const auto status = model_->pieces.LoadFromSerializedProto(bytes);
  require<DataError>(
      status.ok() && !bytes.empty(),
      "reading the tokenizer {}: it is not a SentencePiece model ({}).\nFix: point "
      "model.components.tokenizer at a SentencePiece .model file (umT5: spiece.model).",
      model.string(), status.ToString());
  require<DataError>(
      model_->pieces.eos_id() >= 0,
      "reading the tokenizer {}: the model has no end piece, which every prompt ends "
      "in.\nFix: use a model trained with eos_id (umT5: spiece.model).",
      model.string());
  for (int id = 0; id < model_->pieces.GetPieceSize(); ++id) {
    if (model_->pieces.IsControl(id) || model_->pieces.IsUnknown(id)) {
      model_->reserved.push_back(model_->pieces.IdToPiece(id));
    }
  }
  const std::string keyed = kRules + bytes;
  fingerprint_ = hash_hex(content_hash(keyed.data(), keyed.size()));
}

Tokenizer::~Tokenizer() = default;

std::vector<std::int64_t> Tokenizer::encode(const std::string& text) const {
  return encode_clean(clean_text(text));
}

std::vector<std::int64_t> Tokenizer::encode_clean(const std::string& clean) const {
  for (const std::string& piece : model_->reserved) {
    require<DataError>(clean.find(piece) == std::string::npos,
                       "tokenizing \"{}\": it spells the special piece {}, which stands for no "
                       "text.\nFix: reword the text.",
                       clean, piece);
  }
  std::vector<int> ids;
  const auto status = model_->pieces.Encode(clean, &ids);
  require<DataError>(status.ok(), "tokenizing \"{}\" with {}: {}.\nFix: check the tokenizer file.",
                     clean, path_.string(), status.ToString());
  const auto kept = std::min(static_cast<std::int64_t>(ids.size()), spare_for_end());
  std::vector<std::int64_t> out(ids.begin(), ids.begin() + kept);
  out.push_back(end_id());
  return out;
}

std::string Tokenizer::decode(const std::vector<std::int64_t>& ids) const {
  std::vector<int> kept;
  for (const std::int64_t id : ids) {
    require<DataError>(id >= 0 && id < vocabulary_size(),
                       "decoding token {}: {} has the tokens 0 to {}.\nFix: use the tokenizer that "
                       "made the tokens.",
                       id, path_.string(), vocabulary_size() - 1);
    if (!model_->pieces.IsControl(static_cast<int>(id))) kept.push_back(static_cast<int>(id));
  }
  std::string text;
  const auto status = model_->pieces.Decode(kept, &text);
  require<DataError>(status.ok(), "decoding tokens with {}: {}.\nFix: check the tokenizer file.",
                     path_.string(), status.ToString());
  return text;
}

std::int64_t Tokenizer::vocabulary_size() const {
  return model_->pieces.GetPieceSize();
}
std::int64_t Tokenizer::end_id() const {
  return model_->pieces.eos_id();
}
std::int64_t Tokenizer::unknown_id() const {
  return model_->pieces.unk_id();
}
std::int64_t Tokenizer::padding_id() const {
  return model_->pieces.pad_id();
}

}  // namespace wam
