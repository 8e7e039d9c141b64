#include <nlohmann/json.hpp>

#include "data/check/text.h"

namespace wam {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json value_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json fault_json(const Fault& fault) {
  return {{"kind", name_of(fault.kind)},
          {"severity", name_of(severity_of(fault.kind))},
          {"effect", name_of(fault.effect)},
          {"file", fault.file},
          {"episode", value_or_null(fault.episode)},
          {"frame", value_or_null(fault.frame)},
          {"message", fault.message},
          {"fix", fault.fix}};
}

Json dimension_json(const DimensionSummary& dimension) {
  return {{"name", dimension.name}, {"min", dimension.min}, {"q01", dimension.q01},
          {"mean", dimension.mean}, {"q99", dimension.q99}, {"max", dimension.max},
          {"std", dimension.std}};
}

Json episode_json(const EpisodeWindows& episode) {
  return {{"episode", episode.number}, {"frames", episode.length}, {"windows", episode.windows}};
}

template <class Items, class Make>
Json list(const Items& items, const Make& make) {
  Json out = Json::array();
  for (const auto& item : items) out.push_back(make(item));
  return out;
}

Json cost_json(const SampleCost& cost) {
  if (cost.samples == 0) return {};
  Json cores;
  for (const GpuNeed& need : kGpuNeeds) cores[need.model] = need.samples_s * cost.total_s();
  return {{"decode_ms", 1e3 * cost.decode_s},
          {"transform_ms", 1e3 * cost.transform_s},
          {"cores_per_gpu", cores}};
}

Json report_json(const CheckReport& report) {
  Json out = {{"path", report.root},
              {"embodiment", report.embodiment},
              {"version", report.version},
              {"robot", report.robot},
              {"fps", report.fps},
              {"pictures_decoded", report.depth == CheckDepth::kFull},
              {"cameras", report.cameras},
              {"picture", Json()},
              {"num_episodes", report.num_episodes},
              {"num_rows", report.num_rows()},
              {"num_videos", report.num_videos},
              {"num_windows", report.num_windows()},
              {"shortest_episode", report.shortest_episode},
              {"sample_cost", cost_json(report.sheet.cost)},
              {"faults", list(report.faults, fault_json)},
              {"dimensions", list(report.dimensions, dimension_json)},
              {"episodes", list(report.episodes, episode_json)}};
  if (report.picture) out["picture"] = {report.picture->height, report.picture->width};
  return out;
}

}  // namespace

std::string check_json(const std::vector<CheckReport>& reports, const Judgement& judgement) {
  const Json out = {{"verdict", name_of(judgement.verdict)},
                    {"trains", judgement.trains()},
                    {"num_faults", judgement.faults},
                    {"num_notes", judgement.notes},
                    {"datasets", list(reports, report_json)}};
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace wam
