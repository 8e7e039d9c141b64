#include "data/video/ffmpeg.h"

#include <array>
#include <cerrno>
#include <cstdarg>
#include <mutex>

#include "core/base/data_errors.h"

namespace wam {
namespace {

constexpr std::size_t kMaxErrorText = 400;
constexpr int kMaxErrno = 4096;

std::string*& sink() {
  thread_local std::string* current = nullptr;
  return current;
}

void collect(void* /*source*/, int level, const char* format, va_list values) {
  std::string* to = sink();
  if (level > AV_LOG_ERROR || to == nullptr || to->size() > kMaxErrorText) return;
  std::array<char, 300> line{};
  std::vsnprintf(line.data(), line.size(), format, values);
  std::string text = line.data();
  while (!text.empty() && (text.back() == '\n' || text.back() == '.')) text.pop_back();
  if (text.empty() || to->find(text) != std::string::npos) return;
  if (!to->empty()) *to += "; ";
  *to += text;
}

}  // namespace

FfmpegErrors::FfmpegErrors() : outer_(sink()) {
  static std::once_flag installed;
  std::call_once(installed, [] { av_log_set_callback(collect); });
  sink() = &text_;
}

FfmpegErrors::~FfmpegErrors() {
  sink() = outer_;
}

std::string FfmpegErrors::describe(int code) const {
  std::array<char, AV_ERROR_MAX_STRING_SIZE> name{};
  av_strerror(code, name.data(), name.size());
  return text_.empty() ? std::string(name.data()) : fmt::format("{} ({})", text_, name.data());
}

void throw_input_error(const std::string& doing, int code, const FfmpegErrors& errors) {
  // FFmpeg's own codes are tags of four letters; what the system said is a small number. EINVAL is
  // also how demuxers call a header that makes no sense.
  const bool of_system = code < 0 && code > -kMaxErrno && code != AVERROR(EINVAL);
  if (of_system) {
    throw ReadError(fmt::format("{}: {}. Fix: check the file system and who may read the file.",
                                doing, errors.describe(code)));
  }
  throw DataError(fmt::format(
      "{}: {}. Fix: the file is damaged or cut off; restore it from the dataset's source.", doing,
      errors.describe(code)));
}

void check_allocated(const void* object) {
  require<DeviceError>(object != nullptr, "FFmpeg could not get memory.");
}

ParametersHandle copy_of(const AVCodecParameters& parameters) {
  ParametersHandle out(avcodec_parameters_alloc());
  check_allocated(out.get());
  // Which fails for want of memory alone.
  if (avcodec_parameters_copy(out.get(), &parameters) < 0) check_allocated(nullptr);
  return out;
}

}  // namespace wam
