#include "core/train/optimizer.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "core/random/counter.h"
#include "parallel/strategies/sharded_units.h"
#include "test/support/catch.h"

using wam::AdamW;
using wam::AdamWOptions;
using wam::make_unit;
using wam::ShardedUnits;
using wam::Unit;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Sizes that fill a vector register, that do not, and that leave padding; one tensor frozen.
std::vector<wam::UnitSpec> make_specs() {
  return {make_unit("blocks.0", {{.name = "w", .shape = {11, 13}},
                                 {.name = "frozen", .shape = {70}, .trainable = false},
                                 {.name = "bias", .shape = {13}, .decayed = false}}),
          make_unit("head", {{.name = "h", .shape = {64, 3}},
                             {.name = "scale", .shape = {}, .decayed = false}})};
}

// A number in [-1, 1) for (what, element).
double draw(std::uint64_t what, std::int64_t i) {
  const wam::CounterStream stream(1, wam::Purpose::kInitialise, what);
  return 2 * stream.uniform_double(static_cast<std::uint64_t>(i)) - 1;
}

template <class Fill>
void fill(at::Tensor flat, const Fill& value_of) {
  for (std::int64_t i = 0; i < flat.numel(); ++i) flat[i].fill_(value_of(i));
}

class Setup {
 public:
  explicit Setup(const AdamWOptions& options)
      : sharding(make_specs(), {.compute_type = at::kFloat, .state_type = at::kDouble}) {
    for (Unit& unit : sharding.units()) {
      for_each_value(unit, [&](const std::string& key, std::int64_t i) {
        unit.state("master")[i].fill_(draw(0, i));
        values[key] = draw(0, i);
      });
    }
    optimizer = std::make_unique<AdamW>(sharding, options);
  }

  // The gradient of step `step`, times `size`.
  void set_gradients(std::uint64_t step, double size) {
    sharding.begin_step();
    for (Unit& unit : sharding.units()) {
      for_each_value(unit, [&](const std::string&, std::int64_t i) {
        unit.gradient()[i].fill_(size * draw(step + 1, i));
      });
    }
  }

  // Calls visit("unit/index", index) for every trainable element that is no padding.
  template <class Visit>
  static void for_each_value(Unit& unit, const Visit& visit) {
    for (const auto& tensor : unit.spec().tensors) {
      if (!tensor.trainable) continue;
      for (std::int64_t i = tensor.offset; i < tensor.offset + tensor.numel(); ++i) {
        visit(unit.spec().name + "/" + std::to_string(i), i);
      }
    }
  }

  ShardedUnits sharding;
  std::unique_ptr<AdamW> optimizer;
  std::map<std::string, double> values;  // by unit and index, at the start
};

// One rank's part of the units of `whole`, as a strategy that keeps no compute copy has it. Ranks
// are not connected.
class OneShard final : public wam::Sharding {
 public:
  OneShard(ShardedUnits& whole, int shard_idx, int num_shards) : whole_(whole) {
    for (const auto& spec : make_specs()) {
      units_.emplace_back(
          spec, wam::UnitPlacement{
                    .state_type = at::kDouble, .shard_idx = shard_idx, .num_shards = num_shards});
      units_.back().allocate_state();
      units_.back().state("master").copy_(of_whole(units_.size() - 1, "master"));
      compute_.push_back(at::zeros_like(units_.back().state("master"), at::kFloat));
    }
  }
  // What this shard covers of an array of the whole unit.
  at::Tensor of_whole(std::size_t unit_idx, const std::string& array) {
    const auto& shard = units_[unit_idx].shard();
    Unit& unit = whole_.units()[unit_idx];
    return (array == "gradient" ? unit.gradient() : unit.state(array))
        .slice(0, shard.begin, shard.end);
  }

  void begin_pass() override {}
  void end_pass() override {}
  Unit& acquire(std::size_t unit_idx, wam::Pass /*pass*/) override { return units_[unit_idx]; }
  void release(std::size_t /*unit_idx*/, wam::Pass /*pass*/) override {}
  void gradient_complete(std::size_t /*unit_idx*/) override {}
  std::vector<Unit>& units() override { return units_; }
  void begin_step() override {}
  void begin_micro_step(bool /*last*/) override {}
  at::Tensor shard_gradient(std::size_t unit_idx) override {
    return of_whole(unit_idx, "gradient").clone();
  }
  void sum_over_shards(at::Tensor& /*values*/) override {}
  void sum_over_ranks(at::Tensor& /*values*/) override {}
  at::Tensor shard_compute(std::size_t unit_idx) override { return compute_.at(unit_idx); }
  at::Tensor take_waits() override { return whole_.take_waits(); }
  void share_weights() override { ++shared; }

  int shared = 0;

 private:
  ShardedUnits& whole_;
  std::vector<Unit> units_;
  std::vector<at::Tensor> compute_;
};

// AdamW written down once more, from the paper: one number at a time, in double.
struct PlainAdamW {
  AdamWOptions options;
  std::map<std::string, double> value, m, v;
  int count = 0;

  void step(double rate,
            const std::map<std::string, double>& gradient,
            const std::map<std::string, bool>& decayed) {
    double square_sum = 0;
    for (const auto& [key, g] : gradient) square_sum += g * g;
    const double norm = std::sqrt(square_sum);
    const double clip = options.clip_norm;
    const double factor = clip > 0 && norm + 1e-6 > clip ? clip / (norm + 1e-6) : 1;
    ++count;
    for (const auto& [key, raw] : gradient) {
      const double g = raw * factor;
      if (decayed.at(key)) value[key] *= 1 - rate * options.weight_decay;
      m[key] = options.beta1 * m[key] + (1 - options.beta1) * g;
      v[key] = options.beta2 * v[key] + (1 - options.beta2) * g * g;
      const double m_hat = m[key] / (1 - std::pow(options.beta1, count));
      const double v_hat = v[key] / (1 - std::pow(options.beta2, count));
      value[key] -= rate * m_hat / (std::sqrt(v_hat) + options.epsilon);
    }
  }
};

std::map<std::string, bool> decayed_values(ShardedUnits& sharding) {
  std::map<std::string, bool> out;
  for (Unit& unit : sharding.units()) {
    for (const auto& tensor : unit.spec().tensors) {
      for (std::int64_t i = tensor.offset; i < tensor.offset + tensor.numel(); ++i) {
        if (tensor.trainable) out[unit.spec().name + "/" + std::to_string(i)] = tensor.decayed;
      }
    }
  }
  return out;
}

std::map<std::string, double> values_of(ShardedUnits& sharding, const char* array) {
  std::map<std::string, double> out;
  for (Unit& unit : sharding.units()) {
    const at::Tensor& flat = std::string(array) == "gradient" ? unit.gradient() : unit.state(array);
    Setup::for_each_value(
        unit, [&](const std::string& key, std::int64_t i) { out[key] = flat[i].item<double>(); });
  }
  return out;
}

double largest_difference(const std::map<std::string, double>& a,
                          const std::map<std::string, double>& b) {
  double largest = 0;
  REQUIRE(a.size() == b.size());
  for (const auto& [key, value] : a) largest = std::max(largest, std::abs(value - b.at(key)));
  return largest;
}

std::string state_bytes(ShardedUnits& sharding) {
  std::string out;
  for (Unit& unit : sharding.units()) {
    for (const auto& [array, state] : unit.states()) {
      out.append(static_cast<const char*>(state.const_data_ptr()), state.nbytes());
    }
    out.append(static_cast<const char*>(unit.compute().const_data_ptr()), unit.compute().nbytes());
  }
  return out;
}

// Five steps of both; the largest difference of weights and moments.
double difference_after_five(const AdamWOptions& options, double gradient_size) {
  Setup setup(options);
  PlainAdamW plain;
  plain.options = options;
  plain.value = setup.values;
  const auto decayed = decayed_values(setup.sharding);
  for (std::uint64_t step = 0; step < 5; ++step) {
    const double rate = 0.01 * static_cast<double>(step + 1);
    setup.set_gradients(step, gradient_size);
    plain.step(rate, values_of(setup.sharding, "gradient"), decayed);
    setup.optimizer->step(rate);
  }
  return std::max({largest_difference(values_of(setup.sharding, "master"), plain.value),
                   largest_difference(values_of(setup.sharding, "exp_avg"), plain.m),
                   largest_difference(values_of(setup.sharding, "exp_avg_sq"), plain.v)});
}

}  // namespace

TEST_CASE("AdamW: decay groups and bias correction as the paper has them") {
  // Heavy decay, so that a tensor in the wrong group shows.
  CHECK(difference_after_five({.weight_decay = 0.5, .clip_norm = 0}, 1) < 1e-13);
  CHECK(difference_after_five({.beta1 = 0.5, .beta2 = 0.7, .epsilon = 0.1, .clip_norm = 0}, 1) <
        1e-13);
}

TEST_CASE("AdamW: clips by the global norm over all units") {
  // The factor is rounded to float32: half a unit in the last place, 6e-8, of values near 1.
  CHECK(difference_after_five({.weight_decay = 0.5, .clip_norm = 1}, 1) < 2e-7);
  // A norm below the limit is left alone.
  CHECK(difference_after_five({.weight_decay = 0.5, .clip_norm = 1}, 1e-3) < 1e-13);
}

TEST_CASE("AdamW: reports the norm before clipping, and the share of each unit") {
  Setup setup({.clip_norm = 0.1});
  setup.set_gradients(0, 2);
  double first = 0;
  double second = 0;
  for (const auto& [key, g] : values_of(setup.sharding, "gradient")) {
    (key.starts_with("blocks.0") ? first : second) += g * g;
  }
  const double scale = setup.sharding.units()[1].gradient()[192].item<double>();

  const auto update = setup.optimizer->step(0.1);

  CHECK(update.grad_norm.item<double>() == Approx(std::sqrt(first + second)).epsilon(1e-12));
  CHECK(update.unit_square_sums[0].item<double>() == Approx(first).epsilon(1e-12));
  CHECK(update.unit_square_sums[1].item<double>() == Approx(second).epsilon(1e-12));
  REQUIRE(update.tensor_square_sums.numel() == 4);  // w, bias, h, scale
  CHECK(update.tensor_square_sums[2].item<double>() ==
        Approx(second - scale * scale).epsilon(1e-12));
  CHECK(update.skipped.item<float>() == 0);
}

TEST_CASE("AdamW: publishes rounded weights, padding and frozen tensors stay as they were") {
  Setup setup({});
  Unit& unit = setup.sharding.units()[0];
  unit.weight(unit.spec().index_of("frozen")).fill_(5);
  setup.set_gradients(0, 1);

  setup.optimizer->step(0.1);

  const auto w = unit.weight(unit.spec().index_of("w"));
  CHECK(w.equal(unit.state("master").narrow(0, 0, 143).view({11, 13}).to(at::kFloat)));
  CHECK(unit.weight(unit.spec().index_of("frozen")).eq(5).all().item<bool>());
  CHECK(unit.state("master").narrow(0, 143, 192 - 143).eq(0).all().item<bool>());
}

TEST_CASE("AdamW: an update that is not finite leaves no trace") {
  for (const double bad : {kInf, -kInf, std::nan("")}) {
    Setup setup({});
    Setup undisturbed({});
    for (Setup* each : {&setup, &undisturbed}) {
      each->set_gradients(0, 1);
      each->optimizer->step(0.1);
    }
    const std::string before = state_bytes(setup.sharding);
    setup.set_gradients(1, 1);
    setup.sharding.units()[1].gradient()[7].fill_(bad);

    const auto update = setup.optimizer->step(0.1);

    CHECK(update.skipped.item<float>() == 1);
    CHECK_FALSE(std::isfinite(update.grad_norm.item<double>()));
    CHECK((state_bytes(setup.sharding) == before));
    CHECK(setup.optimizer->applied_updates() == 1);

    for (Setup* each : {&setup, &undisturbed}) {
      each->set_gradients(2, 1);
      each->optimizer->step(0.1);
    }
    CHECK((state_bytes(setup.sharding) == state_bytes(undisturbed.sharding)));
    CHECK(setup.optimizer->applied_updates() == 2);
  }
}

TEST_CASE("AdamW: the count of applied updates can be put back") {
  Setup setup({});
  Setup resumed({});
  for (std::uint64_t step = 0; step < 3; ++step) {
    setup.set_gradients(step, 1);
    setup.optimizer->step(0.1);
  }
  for (std::size_t u = 0; u < 2; ++u) {
    for (auto& [array, state] : resumed.sharding.units()[u].states()) {
      state.copy_(setup.sharding.units()[u].state(array));
    }
  }
  resumed.optimizer->set_applied_updates(setup.optimizer->applied_updates());

  for (Setup* each : {&setup, &resumed}) {
    each->set_gradients(3, 1);
    each->optimizer->step(0.1);
  }

  CHECK((state_bytes(setup.sharding) == state_bytes(resumed.sharding)));
}

TEST_CASE("AdamW: shards, empty ones too, are updated as their part of the whole") {
  const AdamWOptions options{.weight_decay = 0.5, .clip_norm = 0};  // the norm would need all ranks
  for (const int num_shards : {2, 3, 7}) {
    Setup whole(options);
    std::vector<std::unique_ptr<OneShard>> shards;
    std::vector<std::unique_ptr<AdamW>> optimizers;
    for (int i = 0; i < num_shards; ++i) {
      shards.push_back(std::make_unique<OneShard>(whole.sharding, i, num_shards));
      optimizers.push_back(std::make_unique<AdamW>(*shards.back(), options));
    }
    whole.set_gradients(0, 1);
    at::Tensor square_sums = at::zeros({4}, at::kDouble);
    for (auto& optimizer : optimizers) {
      square_sums = square_sums + optimizer->step(0.1).tensor_square_sums;
    }

    const auto update = whole.optimizer->step(0.1);

    CHECK((square_sums - update.tensor_square_sums).abs().max().item<double>() < 1e-13);
    for (auto& shard : shards) {
      CHECK(shard->shared == 1);
      for (std::size_t u = 0; u < 2; ++u) {
        for (auto& [array, state] : shard->units()[u].states()) {
          // Vector and scalar code of one operation may round differently.
          CHECK((state - shard->of_whole(u, array)).abs().sum().item<double>() < 1e-13);
        }
      }
    }
  }
}

TEST_CASE("AdamW: a rate that is not finite changes nothing") {
  Setup setup({});
  setup.sharding.publish_weights();
  setup.set_gradients(0, 1);
  const std::string before = state_bytes(setup.sharding);

  const auto update = setup.optimizer->step(std::nan(""));

  CHECK(update.skipped.item<double>() == 1);
  CHECK((state_bytes(setup.sharding) == before));
  CHECK(setup.optimizer->applied_updates() == 0);
}

TEST_CASE("AdamW: leaves gradients at zero when asked to, also those of a skipped update") {
  Setup setup({.zero_gradients = true});
  Setup other({});
  for (Setup* each : {&setup, &other}) {
    each->set_gradients(0, 1);
    each->optimizer->step(0.1);
  }
  CHECK((state_bytes(setup.sharding) == state_bytes(other.sharding)));
  CHECK(setup.sharding.units()[1].gradient().eq(0).all().item<bool>());
  CHECK_FALSE(other.sharding.units()[1].gradient().eq(0).all().item<bool>());

  setup.set_gradients(1, kInf);
  setup.optimizer->step(0.1);

  CHECK(setup.sharding.units()[1].gradient().eq(0).all().item<bool>());
}

TEST_CASE("non-finite values are named by unit and tensor, the first of the backward first") {
  Setup setup({});
  setup.set_gradients(0, 1);
  // Gradients may be gone when the host asks.
  const auto culprit = [&] {
    const auto sums = setup.optimizer->step(0.1).tensor_square_sums;
    std::vector<at::Tensor> kept;
    for (Unit& unit : setup.sharding.units()) kept.push_back(unit.gradient().clone());
    setup.sharding.begin_step();
    const std::string name = name_nonfinite(setup.sharding, sums);
    for (std::size_t u = 0; u < 2; ++u) setup.sharding.units()[u].gradient().copy_(kept[u]);
    return name;
  };
  CHECK(culprit() == "no weight and no gradient of this rank");

  setup.sharding.units()[0].gradient()[192 + 3].fill_(kInf);
  CHECK(culprit() == "the gradient of unit blocks.0, tensor bias");

  // Backward goes from the head to the first block.
  setup.sharding.units()[1].gradient()[0].fill_(std::nan(""));
  CHECK(culprit() == "the gradient of unit head, tensor h");

  setup.sharding.units()[1].state("master")[192].fill_(kInf);
  CHECK(culprit() == "the weights of unit head, tensor scale");
}
