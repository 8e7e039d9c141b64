#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/train/reshard.h"
#include "core/train/unit.h"

namespace wam {

// One file of a checkpoint, as it was when it was written.
struct ManifestFile {
  std::string name;  // inside the checkpoint's folder
  std::uint64_t bytes = 0;
  std::string xxh3;  // 16 hex digits

  bool operator==(const ManifestFile&) const = default;
};

// One unit: its tensors, the type of its state arrays, and which file holds which of their
// elements. A file holds the same elements of every array, as tensor "<unit>/<array>".
struct ManifestUnit {
  std::string name;
  std::vector<TensorSpec> tensors;
  std::int64_t trainable_numel = 0;
  std::int64_t numel = 0;
  std::map<std::string, std::string> arrays;  // array -> dtype as safetensors names it
  std::vector<HeldRange> held;                // holder: index into Manifest::files
};

// Where weights that are not trained, and so not in the checkpoint, come from.
struct FrozenOrigin {
  std::string component;  // "text_encoder", "vae", …
  std::string source;     // a path, or "random"
  std::string hash;       // of the weights, as the caller computed it; empty for "random"

  bool operator==(const FrozenOrigin&) const = default;
};

// The position in the stream of samples (D8).
struct DataPosition {
  std::uint64_t samples_seen = 0;  // by the whole run, in complete steps
  double epoch = 0;
  std::string fingerprint;  // Dataset::fingerprint(): JSON of what decides, or any text
  // The rule by which samples are drawn from the data; empty in checkpoints of before it had a
  // name.
  std::string order;
  // Windows (dataset/episode/frame) of the whole run that were replaced, since their content is
  // bad: each once, however often it was drawn.
  std::set<std::string> bad_windows = {};

  bool operator==(const DataPosition&) const = default;
};

// What a checkpoint is about: everything beside files and units. Filled by the training loop.
struct RunState {
  std::int64_t step = 0;             // completed steps
  std::int64_t applied_updates = 0;  // Adam's count: steps whose update was not skipped
  DataPosition data;
  std::uint64_t seed = 0;
  std::string generator;  // kind of the counter-based generator
  std::int64_t global_batch = 0;
  std::int64_t world_size = 1;
  std::int64_t threads = 1;  // of one process, for work on the CPU
  std::string program;       // version text
  std::string recipe;        // resolved, as text
  std::string recipe_hash;
  std::string model = "{}";  // JSON object: what decides about the parameters
  std::vector<FrozenOrigin> frozen;
  std::string extra = "{}";  // JSON object of the caller's own
};

// manifest.json of a checkpoint (D9): plain data that describes the files beside it.
struct Manifest {
  static constexpr int kFormat = 1;

  int format = kFormat;
  RunState run;
  std::vector<ManifestUnit> units;
  std::vector<ManifestFile> files;

  // Errors: DataError with the nearest name.
  [[nodiscard]] const ManifestUnit& unit(const std::string& name) const;
};

// A unit split into equal shards, shard i in file i.
ManifestUnit describe_unit(const UnitSpec& spec, int num_shards, at::ScalarType state_type);

// JSON with a checksum of its own content, so that a changed byte is noticed.
// Errors: InvariantError when a text is not UTF-8, or `model` or `extra` is not a JSON object.
std::string manifest_text(const Manifest& manifest);
// Errors: DataError naming `where`, for anything that is not a whole manifest of a known format.
Manifest parse_manifest(const std::string& text, const std::string& where);

// How the unit of a checkpoint differs from the one that is to take its place: names, shapes,
// order, trainable or frozen, state arrays. One line each; empty when its ranges mean the same
// elements.
std::vector<std::string> unit_differences(const ManifestUnit& saved, const UnitSpec& wanted);

// What a run expects of the checkpoint that it wants to go on from.
struct ExpectedRun {
  std::string model;  // JSON object
  std::string data_fingerprint;
  std::string data_order;
  std::uint64_t seed = 0;
  std::string generator;
  std::int64_t global_batch = 0;
  std::string recipe_hash;
  std::string recipe;  // resolved, as text: changed values are named; empty: only the hashes are
  std::int64_t world_size = 1;
  std::int64_t threads = 1;
};

struct RunComparison {
  std::vector<std::string> refused;  // the run cannot go on from it: each names both values
  std::vector<std::string> notes;    // allowed, to be logged
};
RunComparison compare_run(const RunState& saved, const ExpectedRun& expected);

}  // namespace wam
