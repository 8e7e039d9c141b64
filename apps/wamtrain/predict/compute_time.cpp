#include "apps/wamtrain/predict/compute_time.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/core.h>

#include "models/wam/flops.h"

namespace wam {
namespace {

// Sizes that differ only by rounding.
constexpr double kSameSize = 1e-3;

// A micro-batch without recomputation.
struct Point {
  double samples = 0;
  double forward_ms = 0;
  double ms = 0;
  RecomputePlan measured = {};  // the policies under which it was
};

class Predictor {
 public:
  Predictor(const CardRates& rates,
            const WamConfig& config,
            const MicroBatchShape& shape,
            const RecomputePlan& recompute)
      : rates_(rates),
        config_(config),
        shape_(shape),
        recompute_(recompute),
        forward_tflop_(1e-12 * forward_flops(config, shape.blocks)) {
    const auto type =
        shape.compute_type == c10::kBFloat16 ? ComputeType::kBf16 : ComputeType::kFp32;
    for (const MicroStepRate& row : rates.micro_steps) {
      if (row.compute == type) rows_.push_back(row);
    }
    keep_nearest_model();
  }

  std::optional<PassTimes> run() {
    if (rows_.empty()) return std::nullopt;
    for (const MicroStepRate& row : rows_) {
      if (is_asked_for(row)) {
        return PassTimes{1e-3 * row.forward_ms, 1e-3 * (row.ms - row.forward_ms), "measured"};
      }
    }
    const auto samples = static_cast<double>(shape_.samples);
    std::vector<Point> points = points_by_samples();
    const auto above = std::find_if(points.begin(), points.end(),
                                    [&](const Point& p) { return p.samples >= samples; });
    Point base;
    if (above != points.end() && above->samples == samples) {
      base = *above;
      basis_ = fmt::format("from the measured one under {}", base.measured.text());
    } else if (above == points.begin() || above == points.end()) {
      base = proportional(above == points.end() ? points.back() : points.front(), samples);
    } else {
      base = between(*(above - 1), *above, samples);
    }
    return finished(base);
  }

 private:
  // The preset's cases; without any, those of the size nearest to this one.
  void keep_nearest_model() {
    if (rows_.empty()) return;
    const auto distance = [&](const MicroStepRate& row) {
      return std::abs(std::log(row.forward_tflop / forward_tflop_));
    };
    const auto nearest =
        std::min_element(rows_.begin(), rows_.end(),
                         [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
    const std::string model = nearest->model;
    const double tflop = nearest->forward_tflop;
    std::erase_if(rows_, [&](const MicroStepRate& row) {
      return row.model != model || std::abs(row.forward_tflop / tflop - 1) > kSameSize;
    });
    scale_ = forward_tflop_ / tflop;
    if (std::abs(scale_ - 1) <= kSameSize) {
      scale_ = 1;
    } else {
      size_note_ = fmt::format(", scaled by {:.3g} from the {}'s work of a forward", scale_, model);
    }
  }

  [[nodiscard]] bool is_asked_for(const MicroStepRate& row) const {
    const RecomputePlan plan = row.plan();
    const bool same_first =
        plan.first_blocks == recompute_.first_blocks &&
        (plan.first_blocks == 0 || plan.first_policy == recompute_.first_policy);
    return scale_ == 1 && row.micro_batch == shape_.samples && plan.policy == recompute_.policy &&
           same_first;
  }

  // Of `plan`, on a micro-batch whose forward takes `forward_ms`.
  [[nodiscard]] double recompute_ms(const RecomputePlan& plan,
                                    double samples,
                                    double forward_ms) const {
    MicroBatchShape one = shape_;
    one.samples = 1;
    const double products = recompute_flops(config_, shape_.blocks, plan) /
                            forward_flops(config_, shape_.blocks) * forward_ms;
    const double bytes = 2 * samples * static_cast<double>(rebuilt_bytes(config_, one, plan));
    return products + 1e-9 * bytes / rates_.copy_tb_s.value;
  }

  // One point a micro-batch: from the row that needs the smallest correction.
  [[nodiscard]] std::vector<Point> points_by_samples() const {
    std::vector<std::pair<double, Point>> all;  // with the share that was taken away
    for (const MicroStepRate& row : rows_) {
      const auto samples = static_cast<double>(row.micro_batch);
      const double again = recompute_ms(row.plan(), samples, scale_ * row.forward_ms);
      const double wanted = recompute_ms(recompute_, samples, scale_ * row.forward_ms);
      all.push_back(
          {std::abs(again - wanted), {samples, scale_ * row.forward_ms, scale_ * row.ms - again}});
    }
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return std::pair(a.second.samples, a.first) < std::pair(b.second.samples, b.first);
    });
    std::vector<Point> out;
    for (const auto& [correction, point] : all) {
      if (out.empty() || out.back().samples != point.samples) out.push_back(point);
    }
    return out;
  }

  Point proportional(const Point& from, double samples) {
    basis_ =
        fmt::format("extrapolated from micro-batch {}, proportional to the samples", from.samples);
    const double factor = samples / from.samples;
    return {samples, factor * from.forward_ms, factor * from.ms};
  }

  Point between(const Point& below, const Point& above, double samples) {
    basis_ =
        fmt::format("interpolated between micro-batches {} and {}", below.samples, above.samples);
    const double t = (samples - below.samples) / (above.samples - below.samples);
    return {samples, std::lerp(below.forward_ms, above.forward_ms, t),
            std::lerp(below.ms, above.ms, t)};
  }

  [[nodiscard]] PassTimes finished(const Point& base) const {
    const double total = base.ms + recompute_ms(recompute_, base.samples, base.forward_ms);
    return {1e-3 * base.forward_ms, 1e-3 * (total - base.forward_ms), basis_ + size_note_};
  }

  const CardRates& rates_;
  const WamConfig& config_;
  MicroBatchShape shape_;
  RecomputePlan recompute_;
  double forward_tflop_;
  std::vector<MicroStepRate> rows_;
  double scale_ = 1;  // this model's work over that of the rows
  std::string size_note_;
  std::string basis_;
};

}  // namespace

std::optional<PassTimes> micro_step_times(const CardRates& rates,
                                          const WamConfig& config,
                                          const MicroBatchShape& shape,
                                          const RecomputePlan& recompute) {
  return Predictor(rates, config, shape, recompute).run();
}

}  // namespace wam
