#include "core/ops/picture/clips_launch.h"

#include <algorithm>
#include <cstring>
#include <map>

#include <ATen/ops/empty.h>

#include "core/cuda/tensor_kernel.h"
#include "core/ops/picture/clips_kernel.h"

namespace wam {
namespace {

// Arrays on their way to the GPU, in one piece.
class Packed {
 public:
  // The place that the copy will have, from the start of the piece.
  template <class T>
  std::size_t add(const T* values, std::size_t count) {
    const std::size_t at = (bytes_.size() + kAlignment - 1) / kAlignment * kAlignment;
    bytes_.resize(at + count * sizeof(T));
    std::memcpy(bytes_.data() + at, values, count * sizeof(T));
    return at;
  }
  // On the host, pinned.
  [[nodiscard]] at::Tensor pinned() const {
    at::Tensor out = at::empty({static_cast<std::int64_t>(bytes_.size())},
                               at::TensorOptions(at::kByte).pinned_memory(true));
    std::memcpy(out.mutable_data_ptr(), bytes_.data(), bytes_.size());
    return out;
  }

 private:
  static constexpr std::size_t kAlignment = 16;
  std::vector<char> bytes_;
};

// Where the arrays of an axis lie in the piece.
struct PackedAxis {
  std::size_t first = 0;
  std::size_t weight = 0;
};
PackedAxis pack(const ResizeAxis& axis, Packed& packed) {
  return {packed.add(axis.first.data(), axis.first.size()),
          packed.add(axis.weight.data(), axis.weight.size())};
}

void point_to(PictureAxis& axis, const PackedAxis& packed, const char* piece) {
  axis.first = reinterpret_cast<const std::int32_t*>(piece + packed.first);
  axis.weight = reinterpret_cast<const float*>(piece + packed.weight);
}

}  // namespace

void transform_clips_cuda(const RawClips& clips,
                          const at::Tensor& bytes_BN,
                          const at::Tensor& image_BTHWC) {
  std::map<const ClipPlan*, std::pair<PackedAxis, PackedAxis>> axes;
  std::size_t places = 0;
  Packed packed;
  for (const auto& clip : clips.clips) {
    places += clip.plan->places.size();
    if (axes.contains(clip.plan.get())) continue;
    axes[clip.plan.get()] = {pack(clip.plan->rows, packed), pack(clip.plan->columns, packed)};
  }
  const std::vector<ClipJob> room(places);
  const std::size_t jobs_at = packed.add(room.data(), room.size());
  const at::Tensor host = packed.pinned();
  const at::Tensor piece = at::empty(host.sizes(), bytes_BN.options());
  const char* const on_device = static_cast<const char*>(piece.const_data_ptr());

  ClipsTask task;
  task.frames = clips.frames;
  auto* job = reinterpret_cast<ClipJob*>(static_cast<char*>(host.mutable_data_ptr()) + jobs_at);
  for (std::size_t b = 0; b < clips.clips.size(); ++b) {
    const auto at = static_cast<std::int64_t>(b);
    const ClipPlan& plan = *clips.clips[b].plan;
    const auto* raw = bytes_BN.const_data_ptr<std::uint8_t>() + at * bytes_BN.stride(0);
    auto* canvas = image_BTHWC.mutable_data_ptr<std::uint8_t>() + at * image_BTHWC.stride(0);
    if (!plan.covers_all()) image_BTHWC[at].zero_();
    for (const auto& place : plan.places) {
      const std::uint8_t* view = raw + place.view * clips.frames * plan.picture_bytes();
      job->picture = job_of(plan, clips.clips[b].draws, place, view, canvas);
      point_to(job->picture.rows, axes.at(&plan).first, on_device);
      point_to(job->picture.columns, axes.at(&plan).second, on_device);
      job->from_step = plan.picture_bytes();
      job->to_step = 3 * plan.height * plan.width;
      task.max_rows = std::max(task.max_rows, plan.rows.out);
      ++job;
    }
  }
  piece.copy_(host, /*non_blocking=*/true);
  const auto floats = bytes_BN.options().dtype(at::kFloat);
  task.jobs = reinterpret_cast<const ClipJob*>(on_device + jobs_at);
  task.num_jobs = static_cast<std::int64_t>(places);
  const std::int64_t pictures = task.num_jobs * task.frames;
  const at::Tensor luma = at::empty({pictures, task.max_rows, kPictureColumns}, floats);
  const at::Tensor mean = at::empty({pictures}, floats);
  task.luma = luma.mutable_data_ptr<float>();
  task.mean = mean.mutable_data_ptr<float>();
  transform_clips_launch(task, current_stream());
}

}  // namespace wam
