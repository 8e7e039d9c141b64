#include "core/train/state_hash.h"

#include <algorithm>

#include "core/base/names.h"
#include "core/io/hash.h"

namespace wam {
namespace {

constexpr std::int64_t kPieceElements = 64 * 1024 * 1024;

void add(StreamHash& hash, const at::Tensor& array) {
  for (std::int64_t at = 0; at < array.numel(); at += kPieceElements) {
    const std::int64_t numel = std::min(kPieceElements, array.numel() - at);
    const at::Tensor piece = array.narrow(0, at, numel).cpu();
    hash.update(piece.const_data_ptr(), piece.nbytes());
  }
}

}  // namespace

std::string state_hash(std::vector<Unit>& units, const ExchangeTexts& exchange) {
  StreamHash own;
  for (Unit& unit : units) {
    for (const auto& [name, array] : unit.states()) add(own, array);
  }
  const std::string mine = hash_hex(own.digest());
  if (!exchange) return mine;
  const std::string all = join(exchange("state_hash", mine));
  return hash_hex(content_hash(all.data(), all.size()));
}

}  // namespace wam
