#include "apps/wamtrain/dataset_checks.h"

#include <optional>

#include "apps/wamtrain/install.h"
#include "data/embodiment/embodiment.h"
#include "data/lerobot/columns.h"
#include "data/lerobot/meta.h"

namespace wam {
namespace {

// What `work` returns, or nothing and a problem of `key` when the user's files are at fault.
template <class Work>
auto attempt(const std::string& key, Problems& problems, const Work& work)
    -> std::optional<decltype(work())> {
  try {
    return work();
  } catch (const ConfigError& error) {
    problems.add(key, error.what());
  } catch (const DataError& error) {
    problems.add(key, error.what());
  }
  return std::nullopt;
}

bool folder_is_there(const DatasetSection& dataset, const std::string& key, Problems& problems) {
  std::error_code error;
  if (std::filesystem::is_directory(dataset.path, error)) return true;
  problems.add(key, fmt::format("there is no folder {}. Fix: check the path; it is the folder that "
                                "holds meta/ and data/.",
                                dataset.path.string()));
  return false;
}

void check_dataset(const DatasetSection& dataset, const std::string& key, Problems& problems) {
  std::optional<Embodiment> embodiment;
  if (!dataset.embodiment.empty()) {
    embodiment = attempt(key + ".embodiment", problems, [&] {
      return find_embodiment(dataset.embodiment, configs_folder() / "embodiment");
    });
  }
  if (dataset.path.empty() || !folder_is_there(dataset, key + ".path", problems)) return;
  const auto meta =
      attempt(key + ".path", problems, [&] { return read_lerobot_meta(dataset.path); });
}

}  // namespace

void check_datasets(const DataSection& data, Problems& problems) {
  for (std::size_t i = 0; i < data.datasets.size(); ++i) {
    check_dataset(data.datasets[i], fmt::format("data.datasets.{}", i), problems);
  }
}

}  // namespace wam
