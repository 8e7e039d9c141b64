#pragma once

#include <string>
#include <vector>

#include "data/check/check.h"
#include "data/check/verdict.h"

namespace wam {

// One self-contained HTML page: the judgement, faults and notes (the first of each kind), pictures
// as the model will see them, lengths of episodes, histograms of every dimension. Nothing is loaded
// from elsewhere; light or dark as the reader's system is; a few MB however large the dataset.
// Errors: DeviceError when FFmpeg cannot encode the pictures.
std::string check_page(const std::vector<CheckReport>& reports, const Judgement& judgement);

}  // namespace wam
