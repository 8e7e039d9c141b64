#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/names.h"

namespace wam {

// What `wamtrain bench` times.
enum class BenchWhat { kModel, kEncoders, kStep, kOptimizer, kData, kLoop, kComm };

template <>
struct EnumNames<BenchWhat> {
  static constexpr std::array table{std::pair{BenchWhat::kModel, std::string_view("model")},
                                    std::pair{BenchWhat::kEncoders, std::string_view("encoders")},
                                    std::pair{BenchWhat::kStep, std::string_view("step")},
                                    std::pair{BenchWhat::kOptimizer, std::string_view("optimizer")},
                                    std::pair{BenchWhat::kData, std::string_view("data")},
                                    std::pair{BenchWhat::kLoop, std::string_view("loop")},
                                    std::pair{BenchWhat::kComm, std::string_view("comm")}};
};

enum class BenchEncoder { kAll, kVae, kClip, kText };

template <>
struct EnumNames<BenchEncoder> {
  static constexpr std::array table{std::pair{BenchEncoder::kAll, std::string_view("all")},
                                    std::pair{BenchEncoder::kVae, std::string_view("vae")},
                                    std::pair{BenchEncoder::kClip, std::string_view("clip")},
                                    std::pair{BenchEncoder::kText, std::string_view("text")}};
};

// A number that is kept as docs/benchmarks/<id>.json.
struct FigureId {
  std::string id;
  std::string figure;  // its name in the result
};

struct BenchOptions {
  BenchWhat what = BenchWhat::kModel;
  std::int64_t steps = 10;                   // timed, after others that warm up
  std::optional<std::int64_t> text_rows;     // empty: the model's full text length
  std::optional<std::int64_t> assume_world;  // ranks of a full shard of which this is one
  std::optional<std::int64_t> clips;         // a call of an encoder; empty: train.micro_batch
  BenchEncoder encoder = BenchEncoder::kAll;
  double ceiling_seconds = 10;        // of matrix products, to know the card's own rate; 0: do not
  bool against_one = false;           // the part of one rank, or worker, alone, to compare with
  bool with_encoders = true;          // in whole steps
  std::filesystem::path save_to;      // saves there once, to see what it costs; empty: does not
  std::filesystem::path torchvision;  // the script that times it on the same pictures; empty: none
  bool phases = true;                 // profile some steps after the timed ones
  std::filesystem::path profile;      // a Chrome trace of these; empty: none
  std::vector<std::string> ids;       // "NAME" or "NAME=FIGURE"
  std::filesystem::path json_folder;  // gets NAME.json for each id; empty: none
  bool save = false;                  // into the rates of the card
  std::filesystem::path rates;        // that file; empty: configs/rates/<card>.yaml
};

// The figures that a benchmark has, the one that an id takes by default first.
const std::vector<std::string>& figure_names(BenchWhat what);

// Each id with its figure: the named one, else the one that the id ends in ("5b_mbs1_ms" takes
// "ms"), else the first. Errors: ConfigError for an id that is no file name or a figure that the
// benchmark does not have.
std::vector<FigureId> figure_ids(const BenchOptions& options);

// Errors: ConfigError that lists every option that is out of range, or does not go with another or
// with so many ranks.
void check(const BenchOptions& options, int ranks = 1);

}  // namespace wam
