#include <algorithm>
#include <set>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/base/errors.h"
#include "core/base/names.h"
#include "core/io/json_difference.h"
#include "core/train/manifest.h"
#include "core/train/recipe_changes.h"

namespace wam {
namespace {

using Json = nlohmann::ordered_json;

std::string in_words(const TensorSpec& tensor) {
  return fmt::format("{} {} at {}", tensor.trainable ? "trainable" : "frozen", tensor.shape,
                     tensor.offset);
}

const TensorSpec* find(const std::vector<TensorSpec>& tensors, const std::string& name) {
  const auto at = std::find_if(tensors.begin(), tensors.end(),
                               [&](const TensorSpec& t) { return t.name == name; });
  return at == tensors.end() ? nullptr : &*at;
}

void compare_arrays(const ManifestUnit& saved,
                    const UnitSpec& wanted,
                    std::vector<std::string>& out) {
  for (const std::string& array : wanted.state_arrays) {
    if (!saved.arrays.contains(array)) {
      out.push_back(fmt::format("{}: the checkpoint has no state array {}", wanted.name, array));
    }
  }
  const std::set<std::string> known(wanted.state_arrays.begin(), wanted.state_arrays.end());
  for (const auto& entry : saved.arrays) {
    if (!known.contains(entry.first)) {
      out.push_back(
          fmt::format("{}: the run does not keep state array {}", wanted.name, entry.first));
    }
  }
}

void compare_json(const std::string& what,
                  const std::string& saved,
                  const std::string& wanted,
                  std::vector<std::string>& out) {
  const auto lines = json_differences(what, saved, wanted, {"checkpoint", "run"});
  out.insert(out.end(), lines.begin(), lines.end());
}

template <class T>
void compare_value(const char* what,
                   const T& saved,
                   const T& wanted,
                   std::vector<std::string>& out) {
  if (saved != wanted) out.push_back(fmt::format("{}: checkpoint {}, run {}", what, saved, wanted));
}

// A dataset may say what it is in JSON, so that what differs has a name.
void compare_data(const std::string& saved_text,
                  const std::string& wanted_text,
                  std::vector<std::string>& out) {
  const Json saved = Json::parse(saved_text, nullptr, false);
  const Json wanted = Json::parse(wanted_text, nullptr, false);
  if (saved.is_structured() && wanted.is_structured()) {
    compare_json("data", saved_text, wanted_text, out);
  } else {
    compare_value("data fingerprint", saved_text, wanted_text, out);
  }
}

// A run that went on by another rule would train some samples twice and never see others.
void compare_order(const std::string& saved,
                   const std::string& wanted,
                   std::vector<std::string>& out) {
  if (saved == wanted) return;
  out.push_back(fmt::format(
      "order of the samples: checkpoint {}, run {}; the version of wamtrain that wrote the "
      "checkpoint can go on from it",
      saved.empty() ? "of a version that named none" : saved, wanted));
}

// Empty when the recipes are the same.
std::string recipe_note(const RunState& saved, const ExpectedRun& expected) {
  if (saved.recipe_hash == expected.recipe_hash) return {};
  const auto changes = expected.recipe.empty() ? std::vector<std::string>()
                                               : recipe_changes(saved.recipe, expected.recipe);
  const std::string what = changes.empty() ? fmt::format("hash {} there, {} here",
                                                         saved.recipe_hash, expected.recipe_hash)
                                           : join(changes, "; ");
  return fmt::format(
      "the recipe is not the checkpoint's ({}); model, data, seed and global batch are the same",
      what);
}

}  // namespace

std::vector<std::string> unit_differences(const ManifestUnit& saved, const UnitSpec& wanted) {
  std::vector<std::string> out;
  for (const TensorSpec& t : wanted.tensors) {
    const TensorSpec* other = find(saved.tensors, t.name);
    if (other == nullptr) {
      out.push_back(fmt::format("{}: the checkpoint has no tensor {}", wanted.name, t.name));
    } else if (in_words(*other) != in_words(t)) {
      out.push_back(fmt::format("{}: {} is {} in the checkpoint, {} in the run", wanted.name,
                                t.name, in_words(*other), in_words(t)));
    }
  }
  for (const TensorSpec& t : saved.tensors) {
    if (find(wanted.tensors, t.name) == nullptr) {
      out.push_back(fmt::format("{}: the run has no tensor {}", wanted.name, t.name));
    }
  }
  if (out.empty() && saved.trainable_numel != wanted.trainable_numel) {
    out.push_back(fmt::format("{}: {} elements in the checkpoint, {} in the run", wanted.name,
                              saved.trainable_numel, wanted.trainable_numel));
  }
  compare_arrays(saved, wanted, out);
  return out;
}

RunComparison compare_run(const RunState& saved, const ExpectedRun& expected) {
  RunComparison out;
  compare_json("model", saved.model, expected.model, out.refused);
  compare_data(saved.data.fingerprint, expected.data_fingerprint, out.refused);
  compare_order(saved.data.order, expected.data_order, out.refused);
  compare_value("run.seed", saved.seed, expected.seed, out.refused);
  compare_value("random generator", saved.generator, expected.generator, out.refused);
  compare_value("train.global_batch", saved.global_batch, expected.global_batch, out.refused);
  if (const std::string note = recipe_note(saved, expected); !note.empty()) {
    out.notes.push_back(note);
  }
  if (saved.world_size != expected.world_size) {
    out.notes.push_back(fmt::format(
        "{} ranks, the checkpoint was written by {}: same state, samples and draws, not the same "
        "bits from here on (order of sums)",
        expected.world_size, saved.world_size));
  }
  if (saved.threads != expected.threads) {
    out.notes.push_back(fmt::format(
        "{} threads, the checkpoint was written with {}: on the CPU not bit for bit from here on",
        expected.threads, saved.threads));
  }
  return out;
}

}  // namespace wam
