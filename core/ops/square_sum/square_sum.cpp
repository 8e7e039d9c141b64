#include "core/ops/square_sum/square_sum.h"

#include <algorithm>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include "core/base/errors.h"
#include "core/cuda/tensor_kernel.h"
#include "core/ops/square_sum/square_sum_kernel.h"
#include "core/ops/square_sum/square_sum_plain.h"

namespace wam {
namespace {

void run_kernels(const at::Tensor& sum_S, const at::Tensor& flat, const SegmentTable& table) {
  invariant(table.piece_P2.defined() && table.piece_P2.device() == flat.device(),
            "square sums with a table of another device");
  const std::int64_t num_pieces = table.piece_P2.size(0);
  const at::Tensor partial_P = at::empty({num_pieces}, sum_S.options());
  square_sums_cuda(sum_S.mutable_data_ptr<double>(), partial_P.mutable_data_ptr<double>(),
                   flat.const_data_ptr<float>(), table.piece_P2.const_data_ptr<std::int64_t>(),
                   table.first_piece_S1.const_data_ptr<std::int64_t>(), num_pieces, sum_S.size(0),
                   current_stream());
}

}  // namespace

SegmentTable make_segment_table(std::vector<FlatSegment> segments, at::Device device) {
  SegmentTable table;
  table.segments = std::move(segments);
  std::vector<std::int64_t> pieces;
  std::vector<std::int64_t> first{0};
  for (const FlatSegment& segment : table.segments) {
    invariant(segment.begin % kSegmentAlignment == 0 && segment.begin >= table.extent,
              "segments that lie between the boundaries or on each other");
    table.extent = segment.padded_end();
    for (std::int64_t at = segment.begin; at < table.extent; at += kSquareSumPiece) {
      pieces.insert(pieces.end(), {at, std::min(kSquareSumPiece, table.extent - at)});
    }
    first.push_back(static_cast<std::int64_t>(pieces.size() / 2));
  }
  if (!device.is_cuda()) return table;
  table.piece_P2 = at::tensor(pieces, at::kLong).view({-1, 2}).to(device);
  table.first_piece_S1 = at::tensor(first, at::kLong).to(device);
  return table;
}

void square_sums(const at::Tensor& sum_S, const at::Tensor& flat, const SegmentTable& table) {
  invariant(flat.dim() == 1 && flat.is_contiguous() && flat.numel() >= table.extent &&
                sum_S.is_contiguous() && sum_S.scalar_type() == at::kDouble &&
                sum_S.numel() == static_cast<std::int64_t>(table.segments.size()),
            "square sums of a buffer that is not laid out as its table says");
  if constexpr (kBuiltForCuda) {
    if (flat.is_cuda() && flat.scalar_type() == at::kFloat) {
      run_kernels(sum_S, flat, table);
      return;
    }
  }
  square_sums_plain(sum_S, flat, table);
}

}  // namespace wam
