#include "core/base/log.h"

#include <cerrno>
#include <cstring>

#include <unistd.h>

#include "core/base/errors.h"

namespace wam {

Log::Log(const Options& options)
    : console_(options.console), terminal_(options.console && isatty(STDOUT_FILENO) != 0) {
  if (options.file.empty()) return;
  file_ = std::fopen(options.file.c_str(), "a");
  require<ConfigError>(file_ != nullptr,
                       "opening the log file {}: {}. Fix: choose a run.dir that you may write to.",
                       options.file, std::strerror(errno));
}

Log::~Log() {
  end_progress();
  if (file_ != nullptr) std::fclose(file_);
}

void Log::info(std::string_view text) {
  line("", text);
}
void Log::warn(std::string_view text) {
  line("warning: ", text);
}

void Log::line(std::string_view prefix, std::string_view text) {
  const std::lock_guard lock(mutex_);
  const std::string whole = fmt::format("{}{}\n", prefix, text);
  if (console_) {
    if (!shown_progress_.empty()) std::fputs("\r\033[K", stdout);
    std::fwrite(whole.data(), 1, whole.size(), stdout);
    std::fputs(shown_progress_.c_str(), stdout);
    std::fflush(stdout);
  }
  if (file_ != nullptr) {
    std::fwrite(whole.data(), 1, whole.size(), file_);
    std::fflush(file_);
  }
}

void Log::record(std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (file_ == nullptr) return;
  std::fputs(fmt::format("{}\n", text).c_str(), file_);
  std::fflush(file_);
}

void Log::progress(std::string_view text) {
  if (!terminal_) return line("", text);
  const std::lock_guard lock(mutex_);
  shown_progress_ = text;
  std::fputs("\r\033[K", stdout);
  std::fputs(shown_progress_.c_str(), stdout);
  std::fflush(stdout);
}

void Log::end_progress() {
  const std::lock_guard lock(mutex_);
  if (shown_progress_.empty()) return;
  shown_progress_.clear();
  std::fputs("\n", stdout);
  std::fflush(stdout);
}

}  // namespace wam
