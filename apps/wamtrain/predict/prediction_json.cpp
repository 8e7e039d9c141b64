#include <nlohmann/json.hpp>

#include "apps/wamtrain/predict/predict.h"

namespace wam {
namespace {

using Json = nlohmann::ordered_json;

Json step_json(const StrategyPrediction& one, std::int64_t gpus) {
  if (!one.step) return nullptr;
  const StepTime& step = *one.step;
  return {{"step_s", step.total_s()},
          {"encoders_s", step.encoders_s},
          {"compute_s", step.compute_s},
          {"communication_s", step.communication.busy_s},
          {"waits_s", step.communication.waits_s},
          {"exposed_s", step.exposed_s()},
          {"optimizer_s", step.optimizer_s},
          {"exposed_share", step.exposed_s() / step.total_s()},
          {"samples_s", one.samples_s},
          {"samples_s_gpu", one.samples_s / static_cast<double>(gpus)}};
}

Json strategy_json(const StrategyPrediction& one, const Prediction& p) {
  return {{"strategy", one.strategy},
          {"is_of_recipe", one.is_of_recipe},
          {"shard_size", one.spread.shard_size},
          {"reduce", one.spread.reduces_each ? "each" : "last"},
          {"reduce_dtype", one.spread.reduce_bytes == 2 ? "bf16" : "fp32"},
          {"state_on_host", one.spread.state_on_host},
          {"weights_on_host", one.spread.weights_on_host},
          {"weight_bytes", one.memory.weights},
          {"gradient_bytes", one.memory.gradients},
          {"optimizer_bytes", one.memory.optimizer},
          {"total_bytes", one.total_bytes},
          {"host_bytes_of_node", one.memory.host},
          {"fits", p.fits(one)},
          {"gather_bytes", one.traffic.gather},
          {"reduce_bytes", one.traffic.reduce},
          {"replica_bytes", one.traffic.replicas},
          {"upload_bytes", one.traffic.uploads},
          {"time", step_json(one, p.cluster.gpus)}};
}

}  // namespace

std::string prediction_json(const Prediction& p) {
  Json out{{"gpus", p.cluster.gpus},
           {"nodes", p.cluster.nodes},
           {"link_gb_s", p.cluster.link_gb_s ? Json(*p.cluster.link_gb_s) : Json(nullptr)},
           {"card", p.card},
           {"card_bytes", p.card_bytes},
           {"samples_of_gpu", p.samples_of_gpu},
           {"micro_batch", p.micro_batch},
           {"micro_steps", p.micro_steps},
           {"activation_bytes", p.activation_bytes},
           {"encoder_bytes", p.encoder_bytes},
           {"micro_step_s", p.micro_step_s > 0 ? Json(p.micro_step_s) : Json(nullptr)}};
  out["strategies"] = Json::array();
  for (const StrategyPrediction& one : p.strategies) {
    out["strategies"].push_back(strategy_json(one, p));
  }
  out["first_blocks"] = p.first_blocks > 0 ? Json(p.first_blocks) : Json(nullptr);
  out["notes"] = p.notes;
  return out.dump(2) + "\n";
}

}  // namespace wam
