#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/embodiment/embodiment.h"

namespace wam {

// What is known of robots of the reference's checkpoints that no record describes in full: id,
// prompt, layout, and in `views` what each camera shows ("left": the camera of the left hand). All
// else is empty. Nothing for other names.
//
// Source: DreamZero @ ab790c1, embodiment_tag_to_projector_index, its collator's prompts, and the
//         layout that it gives to every robot of several views but DROID, LIBERO and Franka.
std::optional<Embodiment> known_robot(const std::string& name);
std::vector<std::string> known_robot_names();

}  // namespace wam
