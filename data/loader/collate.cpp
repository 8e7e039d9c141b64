#include "data/loader/collate.h"

#include <cstring>
#include <utility>

#include <ATen/ops/empty.h>

#include "core/base/errors.h"
#include "data/picture_memory/picture_memory.h"
#include "data/text_cache/text_batch.h"

namespace wam {
namespace {

at::Tensor allocated(std::vector<std::int64_t> shape, at::ScalarType type, HostMemory memory) {
#ifdef WAM_WITH_CUDA
  return at::empty(shape, at::TensorOptions(type).pinned_memory(memory == HostMemory::kPinned));
#else
  invariant(memory == HostMemory::kPageable, "pinned memory in a build without CUDA");
  return at::empty(shape, at::TensorOptions(type));
#endif
}

at::Tensor pictures(const std::vector<std::int64_t>& shape, HostMemory memory) {
  return memory == HostMemory::kPinned ? allocated(shape, at::kByte, memory)
                                       : picture_memory(shape);
}

at::Tensor stacked(const at::Tensor& one, std::size_t count, HostMemory memory) {
  std::vector<std::int64_t> shape = {static_cast<std::int64_t>(count)};
  shape.insert(shape.end(), one.sizes().begin(), one.sizes().end());
  return allocated(std::move(shape), one.scalar_type(), memory);
}

void copy_to(const at::Tensor& batch, std::size_t position, const at::Tensor& one) {
  invariant(one.is_contiguous() && batch.sizes().slice(1) == one.sizes() &&
                batch.scalar_type() == one.scalar_type(),
            "samples of one shape in a batch");
  auto* out = static_cast<char*>(batch.data_ptr()) + position * one.nbytes();
  std::memcpy(out, one.const_data_ptr(), one.nbytes());
}

}  // namespace

BatchAssembler::BatchAssembler(std::size_t size, HostMemory memory, BatchPictures pictures)
    : memory_(memory), pictures_(pictures) {
  batch_.id.resize(size);
  batch_.ordinal.resize(size);
  batch_.prompt.resize(size);
  replaced_.resize(size);
}

void BatchAssembler::allocate(const Sample& sample) {
  const std::lock_guard lock(mutex_);
  if (batch_.state_BNS.defined()) return;
  const std::size_t size = batch_.ordinal.size();
  batch_.state_BNS = stacked(sample.state_NS, size, memory_);
  batch_.action_BPA = stacked(sample.action_PA, size, memory_);
  batch_.action_mask_BPA = stacked(sample.action_mask_PA, size, memory_);
  batch_.has_real_action_B = allocated({static_cast<std::int64_t>(size)}, at::kBool, memory_);
  if (sample.encoded) {
    const EncodedPictures& one = *sample.encoded;
    batch_.encoded.emplace();
    batch_.encoded->latent_BCFYX = stacked(one.latent_BCFYX, size, memory_);
    if (one.still_BCFYX.defined()) {
      batch_.encoded->still_BCFYX = stacked(one.still_BCFYX, size, memory_);
    }
    batch_.encoded->image_BMD = stacked(one.image_BMD, size, memory_);
    return;
  }
  const auto count = static_cast<std::int64_t>(size);
  const RawClip& clip = sample.clip;
  if (pictures_ == BatchPictures::kTransformed) {
    batch_.image_BTHWC =
        pictures({count, clip.frames(), clip.plan->height, clip.plan->width, 3}, memory_);
    return;
  }
  batch_.raw.emplace();
  batch_.raw->frames = clip.frames();
  batch_.raw->clips.resize(size);
  batch_.raw->bytes_BN = pictures({count, clip.room}, memory_);
}

// The views of a clip one after the other.
void BatchAssembler::put_raw(std::size_t position, const RawClip& clip) {
  RawClips& raw = *batch_.raw;
  invariant(clip.frames() == raw.frames && clip.bytes() <= raw.bytes_BN.size(1),
            "clips of equally many frames, none longer than announced");
  auto* out = raw.bytes_BN.mutable_data_ptr<std::uint8_t>() +
              static_cast<std::int64_t>(position) * raw.bytes_BN.size(1);
  for (const auto& view : clip.view_THWC) {
    std::memcpy(out, view.const_data_ptr(), view.nbytes());
    out += view.nbytes();
  }
  raw.clips[position] = {clip.plan, clip.draws};
}

void BatchAssembler::put_encoded(std::size_t position, const EncodedPictures& one) {
  const EncodedPictures& all = *batch_.encoded;
  copy_to(all.latent_BCFYX, position, one.latent_BCFYX);
  if (all.still_BCFYX.defined()) copy_to(all.still_BCFYX, position, one.still_BCFYX);
  copy_to(all.image_BMD, position, one.image_BMD);
}

void BatchAssembler::put(std::size_t position, const Sample& sample) {
  allocate(sample);
  if (sample.encoded) {
    put_encoded(position, *sample.encoded);
  } else if (pictures_ == BatchPictures::kRaw) {
    put_raw(position, sample.clip);
  } else {
    image_into(sample.clip, batch_.image_BTHWC[static_cast<std::int64_t>(position)]);
  }
  copy_to(batch_.state_BNS, position, sample.state_NS);
  copy_to(batch_.action_BPA, position, sample.action_PA);
  copy_to(batch_.action_mask_BPA, position, sample.action_mask_PA);
  batch_.has_real_action_B.data_ptr<bool>()[position] = sample.has_real_action;
  batch_.id[position] = sample.id;
  batch_.ordinal[position] = sample.ordinal;
  batch_.prompt[position] = sample.prompt;
  replaced_[position] = sample.replaced;
}

Batch BatchAssembler::finish(const TextEmbeddings& text) {
  for (const auto& of_one : replaced_) {
    batch_.replaced.insert(batch_.replaced.end(), of_one.begin(), of_one.end());
  }
  if (batch_.size() > 0) {
    std::vector<at::Tensor> rows;
    for (const auto& prompt : batch_.prompt) rows.push_back(text.rows(prompt));
    TextBatch stack = stack_text(rows, text.width());
    batch_.text_BMD = std::move(stack.text_BMD);
    batch_.text_length = std::move(stack.length);
#ifdef WAM_WITH_CUDA
    if (memory_ == HostMemory::kPinned) batch_.text_BMD = batch_.text_BMD.pin_memory();
#endif
  }
  return std::move(batch_);
}

Batch collate(const std::vector<Sample>& samples, const TextEmbeddings& text, HostMemory memory) {
  BatchAssembler assembler(samples.size(), memory, BatchPictures::kTransformed);
  for (std::size_t i = 0; i < samples.size(); ++i) assembler.put(i, samples[i]);
  return assembler.finish(text);
}

}  // namespace wam
