#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/wamtrain/bench/options.h"
#include "apps/wamtrain/predict/cluster.h"
#include "core/base/names.h"
#include "core/train/checkpoint_list.h"
#include "data/lerobot/episode_filter.h"

// One function a subcommand, each in a file of its own. They return the exit code of a run that did
// what was asked (0, or 1 where the answer is no) and throw what exit_code.h maps otherwise.

namespace wam {

struct RecipeArguments {
  std::filesystem::path recipe;
  std::vector<std::string> overrides;  // "path.to.key=value"
};

enum class OutputFormat { kText, kJson };

// Trains until train.steps or a stop request.
int train_command(const RecipeArguments& arguments);
// Encodes what a recipe's run would encode, before it: its texts or its pictures, into the folder
// that the recipe names. Started as several ranks, each encodes a part.
enum class CacheWhat { kText, kLatents };
template <>
struct EnumNames<CacheWhat> {
  static constexpr std::array table{std::pair{CacheWhat::kText, std::string_view("text")},
                                    std::pair{CacheWhat::kLatents, std::string_view("latents")}};
};
struct CacheArguments {
  RecipeArguments recipe;
  CacheWhat what = CacheWhat::kText;
  bool rebuilds = false;  // latents of something else are removed, not refused
};
int cache_command(const CacheArguments& arguments);
// Prints what a run would be and need or, with --gpus, what every strategy would need and do on so
// many. Allocates no tensor, touches no GPU.
int plan_command(const RecipeArguments& arguments, const PlanOptions& options, OutputFormat format);

// Times parts of a run on random values and prints where the time goes; writes the figures that the
// options name. Started as several ranks, the first one prints.
struct BenchArguments {
  RecipeArguments recipe;
  BenchOptions options;
  std::string command;  // as it was typed, for the figures
};
int bench_command(const BenchArguments& arguments, OutputFormat format);

// Writes the sample world of data/sample_world.
struct SampleArguments {
  std::filesystem::path out;
  std::string layout = "v2.1";   // or v3.0
  std::string pictures = "mp4";  // or images
  std::int64_t episodes = 128;
  std::uint64_t seed = 0;
};
int sample_command(const SampleArguments& arguments);
// Writes a first record for a dataset: 0, or 1 where the dataset does not fit it yet.
struct NewEmbodimentArguments {
  std::filesystem::path dataset;
  std::string like;           // a known robot or a record; empty: none
  std::filesystem::path out;  // empty: TAG.yaml
};
int new_embodiment_command(const NewEmbodimentArguments& arguments);
// Computes the statistics of datasets of one embodiment, prints them with the dimensions to look
// at, and writes them as a metadata.json.
struct StatsArguments {
  std::vector<std::filesystem::path> datasets;  // pooled
  std::string embodiment;                       // as in a recipe
  EpisodeFilter filter = {};                    // of each dataset
  std::filesystem::path out;
  bool merge = false;      // into a file that is there
  double range_floor = 0;  // as data.range_floor
  bool leaves_out_not_finite = false;
  std::int64_t threads = 0;  // 0: one per core
};
int stats_command(const StatsArguments& arguments);
// Looks for what is wrong with datasets, prints it, and writes it where asked for: 0 where training
// would start and run through, else the code of data errors.
struct CheckDataArguments {
  RecipeArguments recipe;                       // its datasets, or with an empty path:
  std::vector<std::filesystem::path> datasets;  // of one
  std::string embodiment;                       // as in a recipe
  bool quick = false;
  std::filesystem::path json;  // empty: none
  std::filesystem::path html;
  std::int64_t threads = 0;  // 0: one per core
};
int check_data_command(const CheckDataArguments& arguments);
// Hashes every file of a checkpoint: 0 when all is well, 1 (and what is wrong) when not.
int verify_command(const std::filesystem::path& checkpoint);
// Lists the checkpoints of a run: 0, or 1 where one is damaged.
struct CheckpointsArguments {
  std::filesystem::path run;
  CheckpointLook look = CheckpointLook::kSizes;
  OutputFormat format = OutputFormat::kText;
};
int checkpoints_command(const CheckpointsArguments& arguments);
// Writes RUN/report.html, and recorded against predicted actions as an SVG picture where one is
// asked for. Prints their paths.
struct ReportArguments {
  std::filesystem::path run;
  std::filesystem::path picture;  // empty: none
};
int report_command(const ReportArguments& arguments);

// Writes a checkpoint as a folder that DreamZero and RLinf load.
struct ExportArguments {
  std::filesystem::path checkpoint;
  std::filesystem::path out;
  std::string dtype = "bf16";  // or fp32
};
int export_command(const ExportArguments& arguments);

}  // namespace wam
