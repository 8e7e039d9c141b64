#pragma once

#include <string>
#include <vector>

#include "core/report/run_data.h"

namespace wam {

// One SVG for a window: a small plot for each action value, truth against prediction over the
// window's action steps. `windows` sets the common scale of each value, so that windows compare.
// Its colours are CSS classes of the page.
std::string action_plots(const ActionWindow& window, const std::vector<ActionWindow>& windows);

// Whether its plots need the full width of a page.
bool wide_plots(const ActionWindow& window);

// Mean absolute difference of truth and prediction.
double action_difference(const ActionWindow& window);

// A picture that stands alone (its own colours and background), for a README: the first
// `max_windows` windows under each other. Errors: InvariantError without a window.
std::string action_picture(const std::vector<ActionWindow>& windows, std::size_t max_windows);

}  // namespace wam
