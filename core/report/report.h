#pragma once

#include <filesystem>
#include <string>

#include "core/report/run_data.h"

namespace wam {

// One self-contained HTML page: losses, validation, speed and where the time went, recorded against
// predicted actions, the recipe. Nothing is loaded from elsewhere; light or dark as the reader's
// system is.
std::string report_page(const RunData& run);

// Reads RUN and writes RUN/report.html, whose path it returns. Works while the run goes on.
// Errors: as read_run; DeviceError when the page cannot be written.
std::filesystem::path write_report(const std::filesystem::path& run_folder);

// Writes the newest windows of RUN (at most `max_windows`) as one SVG picture.
// Errors: DataError when the run has no validation windows.
void write_action_picture(const std::filesystem::path& run_folder,
                          const std::filesystem::path& svg,
                          std::size_t max_windows);

}  // namespace wam
