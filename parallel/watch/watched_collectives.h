#pragma once

#include <memory>
#include <string>

#include "core/cuda/device_counter.h"
#include "core/train/collectives.h"
#include "parallel/watch/progress.h"

namespace wam {

// Names every collective to `progress` before it is issued. On a GPU `counter` counts those that
// the device has completed, in the order of the stream; without one they are complete when the call
// returns. All references outlive it.
std::unique_ptr<Collectives> make_watched(std::unique_ptr<Collectives> inner,
                                          std::string axis,
                                          Progress& progress,
                                          DeviceCounter* counter);

}  // namespace wam
