#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <ATen/core/Tensor.h>

struct AVFrame;

namespace wam {

// A decoded frame -> RGB bytes. swscale with its default behaviour (no accurate rounding, no full
// chroma interpolation), which is what `ffmpeg -pix_fmt rgb24` and torchcodec give; colour matrix
// and range as the frame is tagged, BT.601 limited when it is not.
class RgbConverter {
 public:
  RgbConverter();
  ~RgbConverter();
  RgbConverter(const RgbConverter&) = delete;
  RgbConverter& operator=(const RgbConverter&) = delete;
  RgbConverter(RgbConverter&&) = delete;
  RgbConverter& operator=(RgbConverter&&) = delete;
  // rgb_HWC: (height, width, 3) uint8 contiguous, of the frame's size.
  void convert(const AVFrame& frame, const at::Tensor& rgb_HWC);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// PNG and JPEG files in memory -> (H, W, 3) uint8 RGB; grey and palette pictures are spread to
// three channels, transparency is dropped. Threads: one at a time. Errors: DataError starting with
// `where`.
class PictureDecoder {
 public:
  PictureDecoder();
  ~PictureDecoder();
  PictureDecoder(const PictureDecoder&) = delete;
  PictureDecoder& operator=(const PictureDecoder&) = delete;
  PictureDecoder(PictureDecoder&&) = delete;
  PictureDecoder& operator=(PictureDecoder&&) = delete;
  [[nodiscard]] at::Tensor decode(std::string_view file, const std::string& where);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wam
