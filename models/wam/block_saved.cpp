#include "models/wam/block_saved.h"

#include <iterator>

namespace wam {
namespace {

using Access = at::Tensor& (*)(BlockSaved&);

// Which policies keep a tensor; `full` keeps none.
constexpr unsigned kNone = 1U << static_cast<unsigned>(RecomputePolicy::kNone);
constexpr unsigned kNorms = 1U << static_cast<unsigned>(RecomputePolicy::kNorms);
constexpr unsigned kAttention = 1U << static_cast<unsigned>(RecomputePolicy::kAttention);

enum class Rows { kInputs, kResults, kQueries, kCalls, kText, kImage };
enum class Columns { kWidth, kFeedForward, kHeads, kOne };

struct Row {
  const char* name;
  Access of;
  Rows rows;
  Columns columns;
  unsigned kept_by;
};

// Statistics have one value a token or head, in the accumulate type; everything else is in the
// compute type. Those of the norms come back with the norm's result, so only `none` keeps them.
constexpr Row kTable[] = {
    // clang-format off
    {"norm1.mean",   [](BlockSaved& s) -> at::Tensor& { return s.norm1.mean; },   Rows::kInputs,  Columns::kOne,         kNone},
    {"norm1.rstd",   [](BlockSaved& s) -> at::Tensor& { return s.norm1.rstd; },   Rows::kInputs,  Columns::kOne,         kNone},
    {"u1",           [](BlockSaved& s) -> at::Tensor& { return s.u1; },           Rows::kInputs,  Columns::kWidth,       kNone},
    {"q_in",         [](BlockSaved& s) -> at::Tensor& { return s.q_in; },         Rows::kResults, Columns::kWidth,       kNone | kNorms},
    {"k_in",         [](BlockSaved& s) -> at::Tensor& { return s.k_in; },         Rows::kInputs,  Columns::kWidth,       kNone | kNorms},
    {"v",            [](BlockSaved& s) -> at::Tensor& { return s.v; },            Rows::kInputs,  Columns::kWidth,       kNone | kNorms},
    {"q_rstd",       [](BlockSaved& s) -> at::Tensor& { return s.q_rstd; },       Rows::kQueries, Columns::kOne,         kNone},
    {"k_rstd",       [](BlockSaved& s) -> at::Tensor& { return s.k_rstd; },       Rows::kInputs,  Columns::kOne,         kNone},
    {"q",            [](BlockSaved& s) -> at::Tensor& { return s.q; },            Rows::kQueries, Columns::kWidth,       kNone},
    {"k",            [](BlockSaved& s) -> at::Tensor& { return s.k; },            Rows::kInputs,  Columns::kWidth,       kNone},
    {"attention",    [](BlockSaved& s) -> at::Tensor& { return s.attention; },    Rows::kResults, Columns::kWidth,       kNone | kNorms | kAttention},
    {"lse",          [](BlockSaved& s) -> at::Tensor& { return s.lse; },          Rows::kCalls,   Columns::kHeads,       kNone | kNorms | kAttention},
    {"y1",           [](BlockSaved& s) -> at::Tensor& { return s.y1; },           Rows::kResults, Columns::kWidth,       kNone | kNorms | kAttention},
    {"x1",           [](BlockSaved& s) -> at::Tensor& { return s.x1; },           Rows::kResults, Columns::kWidth,       kNone | kAttention},
    {"norm3.mean",   [](BlockSaved& s) -> at::Tensor& { return s.norm3.mean; },   Rows::kResults, Columns::kOne,         kNone},
    {"norm3.rstd",   [](BlockSaved& s) -> at::Tensor& { return s.norm3.rstd; },   Rows::kResults, Columns::kOne,         kNone},
    {"u2",           [](BlockSaved& s) -> at::Tensor& { return s.u2; },           Rows::kResults, Columns::kWidth,       kNone},
    {"cross_q_in",   [](BlockSaved& s) -> at::Tensor& { return s.cross_q_in; },   Rows::kResults, Columns::kWidth,       kNone | kNorms},
    {"cross_q_rstd", [](BlockSaved& s) -> at::Tensor& { return s.cross_q_rstd; }, Rows::kResults, Columns::kOne,         kNone},
    {"cross_q",      [](BlockSaved& s) -> at::Tensor& { return s.cross_q; },      Rows::kResults, Columns::kWidth,       kNone},
    {"text.k_in",    [](BlockSaved& s) -> at::Tensor& { return s.text.k_in; },    Rows::kText,    Columns::kWidth,       kNone | kNorms},
    {"text.v",       [](BlockSaved& s) -> at::Tensor& { return s.text.v; },       Rows::kText,    Columns::kWidth,       kNone | kNorms},
    {"text.rstd",    [](BlockSaved& s) -> at::Tensor& { return s.text.rstd; },    Rows::kText,    Columns::kOne,         kNone},
    {"text.k",       [](BlockSaved& s) -> at::Tensor& { return s.text.k; },       Rows::kText,    Columns::kWidth,       kNone},
    {"text.out",     [](BlockSaved& s) -> at::Tensor& { return s.text.out; },     Rows::kResults, Columns::kWidth,       kNone | kNorms | kAttention},
    {"text.lse",     [](BlockSaved& s) -> at::Tensor& { return s.text.lse; },     Rows::kResults, Columns::kHeads,       kNone | kNorms | kAttention},
    {"image.k_in",   [](BlockSaved& s) -> at::Tensor& { return s.image.k_in; },   Rows::kImage,   Columns::kWidth,       kNone | kNorms},
    {"image.v",      [](BlockSaved& s) -> at::Tensor& { return s.image.v; },      Rows::kImage,   Columns::kWidth,       kNone | kNorms},
    {"image.rstd",   [](BlockSaved& s) -> at::Tensor& { return s.image.rstd; },   Rows::kImage,   Columns::kOne,         kNone},
    {"image.k",      [](BlockSaved& s) -> at::Tensor& { return s.image.k; },      Rows::kImage,   Columns::kWidth,       kNone},
    {"image.out",    [](BlockSaved& s) -> at::Tensor& { return s.image.out; },    Rows::kResults, Columns::kWidth,       kNone | kNorms | kAttention},
    {"image.lse",    [](BlockSaved& s) -> at::Tensor& { return s.image.lse; },    Rows::kResults, Columns::kHeads,       kNone | kNorms | kAttention},
    {"cross",        [](BlockSaved& s) -> at::Tensor& { return s.cross; },        Rows::kResults, Columns::kWidth,       kNone},
    {"y2",           [](BlockSaved& s) -> at::Tensor& { return s.y2; },           Rows::kResults, Columns::kWidth,       kNorms},
    {"x2",           [](BlockSaved& s) -> at::Tensor& { return s.x2; },           Rows::kResults, Columns::kWidth,       kNone | kAttention},
    {"norm2.mean",   [](BlockSaved& s) -> at::Tensor& { return s.norm2.mean; },   Rows::kResults, Columns::kOne,         kNone},
    {"norm2.rstd",   [](BlockSaved& s) -> at::Tensor& { return s.norm2.rstd; },   Rows::kResults, Columns::kOne,         kNone},
    {"u3",           [](BlockSaved& s) -> at::Tensor& { return s.u3; },           Rows::kResults, Columns::kWidth,       kNone},
    {"h",            [](BlockSaved& s) -> at::Tensor& { return s.h; },            Rows::kResults, Columns::kFeedForward, kNone | kNorms},
    {"g",            [](BlockSaved& s) -> at::Tensor& { return s.g; },            Rows::kResults, Columns::kFeedForward, kNone},
    {"y3",           [](BlockSaved& s) -> at::Tensor& { return s.y3; },           Rows::kResults, Columns::kWidth,       kNone | kNorms | kAttention},
    // clang-format on
};

bool is_kept(const Row& row, RecomputePolicy policy) {
  return (row.kept_by & (1U << static_cast<unsigned>(policy))) != 0;
}

std::int64_t rows_of(Rows rows, const BlockExtents& e) {
  switch (rows) {
    case Rows::kInputs:
      return e.inputs;
    case Rows::kResults:
      return e.results;
    case Rows::kQueries:
      return e.queries;
    case Rows::kCalls:
      return e.lse_rows;
    case Rows::kText:
      return e.text_tokens;
    case Rows::kImage:
      return e.image_tokens;
  }
  return 0;
}

std::int64_t bytes_of(const Row& row, const BlockExtents& e) {
  const std::int64_t rows = rows_of(row.rows, e);
  switch (row.columns) {
    case Columns::kWidth:
      return rows * e.width * e.element_bytes;
    case Columns::kFeedForward:
      return rows * e.ffn_width * e.element_bytes;
    case Columns::kHeads:
      return rows * e.heads * e.statistic_bytes;
    case Columns::kOne:
      return rows * e.statistic_bytes;
  }
  return 0;
}

}  // namespace

void drop(RecomputePolicy policy, BlockSaved& saved) {
  for (const Row& row : kTable) {
    if (!is_kept(row, policy)) row.of(saved).reset();
  }
}

std::vector<SavedBytes> saved_bytes(RecomputePolicy policy, const BlockExtents& extents) {
  std::vector<SavedBytes> out;
  for (const Row& row : kTable) {
    if (is_kept(row, policy)) out.push_back({row.name, bytes_of(row, extents)});
  }
  return out;
}

std::vector<SavedBytes> saved_bytes(const BlockSaved& saved) {
  BlockSaved copy = saved;
  std::vector<SavedBytes> out;
  for (const Row& row : kTable) {
    const at::Tensor& tensor = row.of(copy);
    if (tensor.defined()) {
      out.push_back({row.name, static_cast<std::int64_t>(tensor.nbytes())});
    }
  }
  return out;
}

}  // namespace wam
