#include "apps/wamtrain/rehearsal.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "data/loader/collate.h"
#include "data/text_cache/text_batch.h"

namespace wam {
namespace {

// One prompt for each length that texts are padded to.
std::vector<std::string> prompts_by_length(const Dataset& data, const TextEmbeddings& text) {
  std::map<std::int64_t, std::string> by_length;
  for (const std::string& prompt : data.prompts()) {
    by_length.emplace(padded_text_length(text.rows(prompt).size(0)), prompt);
  }
  std::vector<std::string> out;
  for (const auto& [length, prompt] : by_length) out.push_back(prompt);
  return out;
}

// Samples in a micro-step of each rank.
std::vector<std::size_t> sizes_of(const BatchPlan& plan, std::int64_t micro_step) {
  std::vector<std::size_t> sizes;
  BatchPlan of_rank = plan;
  for (of_rank.rank = 0; of_rank.rank < plan.world; ++of_rank.rank) {
    sizes.push_back(of_rank.ordinals(0, micro_step).size());
  }
  return sizes;
}

}  // namespace

void rehearse_steps(WamModel& model,
                    Sharding& sharding,
                    const Dataset& data,
                    const std::vector<std::uint64_t>& shapes,
                    const TextEmbeddings& text,
                    const BatchPlan& plan) {
  const std::vector<std::string> prompts = prompts_by_length(data, text);
  std::vector<Sample> samples_of_shape;
  for (const auto window : shapes) {
    samples_of_shape.push_back(data.load(window, 0, Transforms::kTraining));
  }
  std::set<std::pair<std::vector<std::size_t>, int>> rehearsed;  // sizes on the ranks, and the kind
  sharding.begin_step();
  for (std::int64_t m = 0; m < plan.micro_steps(); ++m) {
    sharding.begin_micro_step(m + 1 == plan.micro_steps());
    const auto sizes = sizes_of(plan, m);
    if (!rehearsed.emplace(sizes, sharding.micro_step_kind()).second) continue;
    for (Sample& sample : samples_of_shape) {
      for (const std::string& prompt : prompts) {
        sample.prompt = prompt;
        const std::vector<Sample> samples(sizes[static_cast<std::size_t>(plan.rank)], sample);
        model.rehearse(collate(samples, text), sharding);
      }
    }
  }
  model.end_rehearsal();
}

}  // namespace wam
