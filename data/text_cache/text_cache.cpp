#include "data/text_cache/text_cache.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include <ATen/ops/isfinite.h>

#include "core/base/errors.h"
#include "core/base/format.h"
#include "core/io/disk.h"
#include "core/io/hash.h"
#include "core/io/shared_folder.h"
#include "data/tokenizer/clean_text.h"

namespace wam {
namespace {

// A killed process loses at most this much work, and a large data set makes hundreds of files.
constexpr std::size_t kPackBytes = std::size_t{64} << 20;

std::string folder_key(const TextCache::Options& options, const Tokenizer& tokenizer) {
  const std::string parts =
      fmt::format("{}|{}|{}", options.weights, tokenizer.fingerprint(), options.width);
  return "text_" + hash_hex(content_hash(parts.data(), parts.size()));
}

}  // namespace

TextCache::TextCache(Options options, const Tokenizer& tokenizer, Log& log)
    : options_(std::move(options)),
      tokenizer_(tokenizer),
      log_(log),
      folder_(options_.folder / folder_key(options_, tokenizer)) {
  make_folders(folder_);
}

const std::string& TextCache::clean(const std::string& prompt) {
  const auto known = cleaned_.find(prompt);
  if (known != cleaned_.end()) return known->second;
  return cleaned_.emplace(prompt, clean_text(prompt)).first->second;
}

std::uint64_t TextCache::bytes_of(const std::vector<std::string>& prompts) {
  std::uint64_t tokens = 0;
  for (const std::string& prompt : prompts) tokens += tokenizer_.encode_clean(clean(prompt)).size();
  return tokens * static_cast<std::uint64_t>(options_.width) * sizeof(c10::BFloat16);
}

void TextCache::scan() {
  std::vector<std::filesystem::path> fresh;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::filesystem::path& path = entry.path();
    if (path.extension() == ".tmp") remove_if_stale(path);
    if (path.extension() != ".safetensors") continue;
    if (!seen_files_.contains(path.filename().string())) fresh.push_back(path);
  }
  std::sort(fresh.begin(), fresh.end());
  for (const std::filesystem::path& path : fresh) add_pack(path);
}

void TextCache::add_pack(const std::filesystem::path& path) {
  try {
    const auto pack = std::make_shared<Pack>(Pack{.file = std::make_shared<TextPack>(path)});
    seen_files_.insert(path.filename().string());
    for (const std::string& key : pack->file->keys()) packs_of_[key].push_back(pack);
  } catch (const DataError& error) {
    set_aside(path, error.what());
  }
}

void TextCache::set_aside(const std::filesystem::path& path, const std::string& why) {
  seen_files_.erase(path.filename().string());  // it may be written again
  std::error_code failed;
  std::filesystem::rename(path, path.string() + ".corrupt", failed);
  log_.warn(fmt::format(
      "text embeddings: {} is damaged ({}); {} and its prompts are computed again.", path.string(),
      why, failed ? "it is passed over" : "it is set aside as .corrupt"));
}

std::shared_ptr<const TextPack> TextCache::find(const std::string& key) {
  const auto packs = packs_of_.find(key);
  if (packs == packs_of_.end()) return nullptr;
  for (const std::shared_ptr<Pack>& pack : packs->second) {
    if (pack->state == Pack::State::kUnread) {
      const std::string damage = pack->file->find_damage(options_.width);
      pack->state = damage.empty() ? Pack::State::kGood : Pack::State::kDamaged;
      if (!damage.empty()) set_aside(pack->file->path(), damage);
    }
    if (pack->state == Pack::State::kGood) return pack->file;
  }
  return nullptr;
}

std::vector<std::string> TextCache::missing(const std::vector<std::string>& prompts) {
  scan();
  std::vector<std::string> out;
  std::unordered_set<std::string> wanted;
  for (const std::string& prompt : prompts) {
    if (rows_.contains(prompt)) continue;
    const std::string key = text_key(clean(prompt));
    if (const auto pack = find(key)) {
      rows_[prompt] = pack->rows(key);
    } else if (wanted.insert(key).second) {
      out.push_back(prompt);
    }
  }
  return out;
}

void TextCache::fill(const std::vector<std::string>& prompts, const EncodeText& encode) {
  const std::vector<std::string> todo = missing(prompts);
  if (!todo.empty()) {
    const std::uint64_t bytes = bytes_of(todo);
    check_free_space(folder_, bytes, "storing text embeddings");
    log_.info(fmt::format("text embeddings: computing {} prompts, {}, into {}",
                          with_commas(static_cast<std::int64_t>(todo.size())),
                          human_bytes(static_cast<double>(bytes)), folder_.string()));
    compute(todo, encode);
    const std::vector<std::string> left = missing(prompts);
    require<DataError>(
        left.empty(),
        "storing text embeddings in {}: {} prompts cannot be read back, the first is "
        "\"{}\".\nFix: check the disk, or choose another data.text_cache.",
        folder_.string(), left.size(), left.empty() ? "" : left.front());
  }
}

void TextCache::compute(const std::vector<std::string>& prompts, const EncodeText& encode) {
  std::vector<TextEntry> pending;
  std::size_t bytes = 0;
  std::int64_t done = 0;
  for (const std::string& prompt : prompts) {
    const std::string& text = clean(prompt);
    // Another process may have stored it in the meantime.
    if (find(text_key(text)) == nullptr) {
      pending.push_back(embed(text, encode));
      bytes += pending.back().rows_MD.nbytes();
    }
    if (bytes >= kPackBytes) {
      store(pending);
      bytes = 0;
    }
    ++done;
    if (options_.on_progress) {
      options_.on_progress(done, static_cast<std::int64_t>(prompts.size()));
    }
  }
  store(pending);
}

TextEntry TextCache::embed(const std::string& text, const EncodeText& encode) const {
  const std::vector<std::vector<std::int64_t>> ids{tokenizer_.encode_clean(text)};
  const auto length = static_cast<std::int64_t>(ids.front().size());
  const at::Tensor text_BMD = encode(ids);
  require<InvariantError>(
      text_BMD.dim() == 3 && text_BMD.size(0) == 1 && text_BMD.size(1) >= length &&
          text_BMD.size(2) == options_.width,
      "embedding a prompt of {} tokens: the encoder gave another shape than (1, "
      "{}, {})",
      length, length, options_.width);
  const at::Tensor rows_MD =
      text_BMD.select(0, 0).narrow(0, 0, length).to(at::kCPU, at::kBFloat16).contiguous();
  require<DataError>(at::isfinite(rows_MD).all().item().toBool(),
                     "embedding the prompt \"{}\": the text encoder gave values that are not "
                     "finite.\nFix: check the weights in model.components.text_encoder.",
                     text);
  return {.key = text_key(text), .text = text, .rows_MD = rows_MD};
}

void TextCache::store(std::vector<TextEntry>& entries) {
  if (entries.empty()) return;
  TextPack::write(folder_, entries);
  entries.clear();
  scan();
}

at::Tensor TextCache::rows(const std::string& prompt) const {
  const auto at = rows_.find(prompt);
  require<DataError>(
      at != rows_.end(),
      "looking up the text embedding of \"{}\": it was not computed before training "
      "started.\nFix: list this prompt in the dataset's prompts, or remove the run's "
      "text cache {} and start again.",
      prompt, folder_.string());
  return at->second;
}

}  // namespace wam
