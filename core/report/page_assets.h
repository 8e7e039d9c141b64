#pragma once

namespace wam {

// The page's style sheet and script, inline so that the page stands alone.
extern const char* const kReportStyle;
extern const char* const kReportScript;

}  // namespace wam
