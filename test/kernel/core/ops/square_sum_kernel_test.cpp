#include <cmath>
#include <limits>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>

#include "core/ops/square_sum/square_sum.h"
#include "core/ops/square_sum/square_sum_plain.h"
#include "core/random/counter.h"
#include "test/kernel/core/ops/kernel_check.h"
#include "test/support/catch.h"

namespace wam {
namespace {

// Segments of these sizes one after the other, as make_unit lays them out.
std::vector<FlatSegment> segments_of(const std::vector<std::int64_t>& sizes) {
  std::vector<FlatSegment> out;
  std::int64_t at = 0;
  for (const std::int64_t numel : sizes) {
    out.push_back({at, numel});
    at = out.back().padded_end();
  }
  return out;
}

// One element, less and more than a block's piece, many pieces, none at all.
const std::vector<std::int64_t> kSizes{1,     63,    64,        65,          0,       143,
                                       16384, 16385, 3 * 16384, 1000 * 1031, 597 * 43};

// (padded) normal numbers of this size on the CPU, zero between the segments.
at::Tensor draws(const std::vector<FlatSegment>& segments, double size) {
  const at::Tensor flat = at::zeros({segments.back().padded_end()}, at::kFloat);
  std::uint64_t which = 0;
  for (const FlatSegment& s : segments) {
    CounterStream(3, Purpose::kSampleWorld, which++)
        .normals(flat.mutable_data_ptr<float>() + s.begin, s.numel);
  }
  return flat.mul_(size);
}

at::Tensor sums_on_gpu(const at::Tensor& flat, const std::vector<FlatSegment>& segments) {
  const at::Tensor sums = at::zeros({static_cast<std::int64_t>(segments.size())},
                                    at::TensorOptions(at::kCUDA).dtype(at::kDouble));
  square_sums(sums, flat, make_segment_table(segments, at::Device(at::kCUDA, 0)));
  return sums;
}

at::Tensor plain_sums(const at::Tensor& flat, const std::vector<FlatSegment>& segments) {
  const at::Tensor sums = at::zeros({static_cast<std::int64_t>(segments.size())}, at::kDouble);
  square_sums_plain(sums, flat.to(at::kDouble), make_segment_table(segments, at::kCPU));
  return sums;
}

}  // namespace

TEST_CASE("square sum kernels equal the plain twin, in any order of sums") {
  if (test::skipped_without_gpu()) return;
  const auto segments = segments_of(kSizes);
  for (const double size : {1.0, 1e25, 1e-25}) {
    const at::Tensor flat = draws(segments, size);
    const at::Tensor expected = plain_sums(flat, segments);

    const at::Tensor found = sums_on_gpu(flat.to(at::kCUDA), segments).cpu();

    for (std::size_t s = 0; s < segments.size(); ++s) {
      const auto i = static_cast<std::int64_t>(s);
      const double e = expected[i].item<double>();
      // Both add positive numbers: at most a rounding of the sum an element, and that of the root
      // and square of the twin.
      const double bound = static_cast<double>(segments[s].numel + 8) * 0x1p-53 * e;
      INFO("segment of " << segments[s].numel << ", size " << size);
      CHECK(std::abs(found[i].item<double>() - e) <= bound);
    }
  }
}

TEST_CASE("square sum kernels repeat bit for bit, on any stream and anywhere in a buffer") {
  if (test::skipped_without_gpu()) return;
  const auto segments = segments_of(kSizes);
  const at::Tensor flat = draws(segments, 1).to(at::kCUDA);
  const at::Tensor expected = sums_on_gpu(flat, segments);
  const at::Tensor longer =
      at::zeros({flat.numel() + kSegmentAlignment}, flat.options()).fill_(std::nan(""));
  const at::Tensor moved = longer.narrow(0, kSegmentAlignment, flat.numel()).copy_(flat);

  CHECK(at::equal(sums_on_gpu(flat, segments), expected));
  CHECK(at::equal(sums_on_gpu(moved, segments), expected));
  CHECK(at::equal(test::on_other_stream(
                      flat, [&](const at::Tensor& late) { return sums_on_gpu(late, segments); }),
                  expected));
}

TEST_CASE("square sum kernels: only the segment with a bad element is bad") {
  if (test::skipped_without_gpu()) return;
  const auto segments = segments_of(kSizes);
  for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    for (const std::size_t s : {std::size_t{0}, std::size_t{5}, std::size_t{9}}) {
      at::Tensor flat = draws(segments, 1);
      flat[segments[s].begin + segments[s].numel - 1].fill_(bad);

      const at::Tensor finite = sums_on_gpu(flat.to(at::kCUDA), segments).isfinite().cpu();

      CHECK_FALSE(finite[static_cast<std::int64_t>(s)].item<bool>());
      CHECK(finite.sum().item<std::int64_t>() == static_cast<std::int64_t>(segments.size()) - 1);
    }
  }
}

TEST_CASE("square sum kernels: a shard without elements has sums of zero") {
  if (test::skipped_without_gpu()) return;
  const std::vector<FlatSegment> segments{{0, 0}, {0, 0}};

  const at::Tensor sums = sums_on_gpu(at::zeros({0}, at::TensorOptions(at::kCUDA)), segments);

  CHECK(sums.eq(0).all().item<bool>());
}

}  // namespace wam
