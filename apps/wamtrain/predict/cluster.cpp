#include "apps/wamtrain/predict/cluster.h"

#include "core/base/errors.h"
#include "parallel/estimate/spread.h"

namespace wam {
namespace {

constexpr std::int64_t kMostGpus = 1'000'000;

}  // namespace

void check(const Cluster& cluster) {
  std::vector<std::string> problems;
  for (const std::string& problem :
       problems_of(Spread{.gpus = cluster.gpus, .nodes = cluster.nodes})) {
    problems.push_back("--gpus, --nodes: " + problem);
  }
  if (cluster.gpus > kMostGpus) {
    problems.push_back(
        fmt::format("--gpus {}: expected at most {}. Fix: give a number of GPUs that there are.",
                    cluster.gpus, kMostGpus));
  }
  if (cluster.nodes > 1 && !cluster.link_gb_s) {
    problems.push_back(fmt::format(
        "--nodes {}: the network between them is not known. Fix: give --link, the GB/s that each "
        "GPU has to itself, such as 50 for 400 Gbit/s.",
        cluster.nodes));
  }
  if (cluster.nodes == 1 && cluster.link_gb_s) {
    problems.emplace_back(
        "--link: there is one node, so that nothing goes over it. Fix: give --nodes, or leave it "
        "out.");
  }
  if (cluster.link_gb_s && !(*cluster.link_gb_s > 0)) {
    problems.push_back(fmt::format(
        "--link {}: expected a rate above 0. Fix: give GB/s, such as 50.", *cluster.link_gb_s));
  }
  if (!problems.empty()) throw ConfigError::of(problems);
}

std::optional<Cluster> cluster_of(const PlanOptions& options) {
  if (!options.gpus) {
    const bool is_plain = !options.nodes && !options.link_gb_s && options.rates.empty();
    require<ConfigError>(is_plain,
                         "--nodes, --link, --rates: they describe the GPUs of --gpus, which is not "
                         "there. Fix: give --gpus, or leave them out.");
    return std::nullopt;
  }
  const Cluster cluster{
      .gpus = *options.gpus, .nodes = options.nodes.value_or(1), .link_gb_s = options.link_gb_s};
  check(cluster);
  return cluster;
}

}  // namespace wam
