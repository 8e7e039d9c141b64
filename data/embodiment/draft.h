#pragma once

#include <string>
#include <vector>

#include "data/embodiment/embodiment.h"
#include "data/lerobot/meta.h"

namespace wam {

// A first record for a dataset, made of its metadata alone, and what in it was guessed.
struct EmbodimentDraft {
  Embodiment record;
  std::vector<std::string> notes;  // a sentence each
};

// Cameras, keys and columns are the dataset's: by modality.json, else every camera and every vector
// column of state and of action, of which values named as a gripper's become a key of their own.
// A block is eight pictures 0.2 s apart (as DROID's and LIBERO's records have them at 15 and 10
// fps), with an action for every frame; anchors follow each other without a gap. Normalisation is
// q99 and no action is relative.
//
// Id, prompt and layout are those of `like` where given, whose views are matched with the cameras
// by name, then in order; else a layout and prompt that name all cameras.
// Errors: DataError (no camera, no state or no action, fewer cameras than `like` has views).
EmbodimentDraft draft_embodiment(const LeRobotMeta& meta, const Embodiment* like);

// The record as YAML that read_embodiment reads back the same, below the notes as comments.
std::string record_text(const EmbodimentDraft& draft);

}  // namespace wam
