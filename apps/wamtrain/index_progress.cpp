#include "apps/wamtrain/index_progress.h"

#include <memory>

#include "apps/wamtrain/progress_bar.h"

namespace wam {

SetIndexOptions index_options(const std::filesystem::path& folder, bool keep, Log& log) {
  SetIndexOptions options{.folder = folder, .keep = keep};
  const auto bar =
      std::make_shared<ProgressBar>(log, "data: reading labels and texts once", "episodes");
  options.on_progress = [bar](std::int64_t done, std::int64_t total) { bar->show(done, total); };
  options.on_note = [&log](const std::string& line) { log.warn("data: " + line); };
  return options;
}

}  // namespace wam
