#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>

#include "core/random/counter.h"
#include "core/train/optimizer.h"
#include "parallel/strategies/sharded_units.h"
#include "test/kernel/core/ops/kernel_check.h"
#include "test/support/catch.h"

namespace wam {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const AdamWOptions kOptions{.weight_decay = 0.1, .clip_norm = 1};

std::vector<UnitSpec> make_specs() {
  return {make_unit("blocks.0", {{.name = "w", .shape = {301, 257}},
                                 {.name = "frozen", .shape = {70}, .trainable = false},
                                 {.name = "bias", .shape = {257}, .decayed = false}}),
          make_unit("head", {{.name = "h", .shape = {64, 33}},
                             {.name = "scale", .shape = {}, .decayed = false}})};
}

at::Tensor draws(std::uint64_t which, const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  const at::Tensor out = at::zeros({count}, at::kFloat);
  CounterStream(11, Purpose::kSampleWorld, which).normals(out.mutable_data_ptr<float>(), count);
  return out.view(shape);
}

// Two units with an optimizer, on one device.
struct Trained {
  explicit Trained(const ShardedUnits::Options& placement, bool replays = false)
      : sharding(make_specs(), placement), optimizer(sharding, kOptions, replays) {
    for_each_tensor([this](Unit& unit, std::size_t t, std::uint64_t key) {
      const TensorSpec& spec = unit.spec().tensors[t];
      const at::Tensor values = draws(key, {spec.numel()});
      unit.state("master").narrow(0, spec.offset, spec.numel()).copy_(values);
    });
    sharding.publish_weights();
  }

  void for_each_tensor(const std::function<void(Unit&, std::size_t, std::uint64_t)>& visit) {
    std::uint64_t key = 0;
    for (Unit& unit : sharding.units()) {
      for (std::size_t t = 0; t < unit.spec().tensors.size(); ++t, ++key) {
        if (unit.spec().tensors[t].trainable) visit(unit, t, key);
      }
    }
  }

  // The gradients of step `step`.
  void set_gradients(std::uint64_t step) {
    sharding.begin_step();
    for_each_tensor([step](Unit& unit, std::size_t t, std::uint64_t key) {
      unit.weight_gradient(t).copy_(draws(100 * (step + 1) + key, unit.spec().tensors[t].shape));
    });
  }

  std::string bytes() {
    std::string out;
    for (Unit& unit : sharding.units()) {
      for (auto& [name, state] : unit.states()) add(out, state);
      add(out, unit.compute());
    }
    return out;
  }

  ShardedUnits sharding;
  AdamW optimizer;

 private:
  static void add(std::string& out, const at::Tensor& array) {
    const at::Tensor host = array.cpu();
    out.append(static_cast<const char*>(host.const_data_ptr()), host.nbytes());
  }
};

const at::Device kGpu(at::kCUDA, 0);
const ShardedUnits::Options kOnGpu{.device = kGpu, .compute_type = at::kBFloat16};

}  // namespace

TEST_CASE("AdamW on the GPU follows AdamW on the CPU, skipped updates included") {
  if (test::skipped_without_gpu()) return;
  Trained cpu({.compute_type = at::kBFloat16});
  Trained gpu(kOnGpu);
  for (std::uint64_t step = 0; step < 6; ++step) {
    UpdateResult results[2];
    for (Trained* each : {&cpu, &gpu}) {
      each->set_gradients(step);
      if (step == 2) each->sharding.units()[0].gradient()[301 * 257 - 1].fill_(kInf);
      results[each == &gpu ? 1 : 0] = each->optimizer.step(0.01);
    }
    CHECK(results[1].skipped.item<double>() == (step == 2 ? 1 : 0));
    if (step == 2) {
      CHECK(name_nonfinite(gpu.sharding, results[1].tensor_square_sums.cpu()) ==
            "the gradient of unit blocks.0, tensor w");
      continue;
    }
    CHECK(results[1].grad_norm.item<double>() ==
          Approx(results[0].grad_norm.item<double>()).epsilon(1e-11));
  }
  CHECK(gpu.optimizer.applied_updates() == 5);
  for (std::size_t u = 0; u < 2; ++u) {
    Unit& found = gpu.sharding.units()[u];
    Unit& expected = cpu.sharding.units()[u];
    // Five times: an update of at most about the rate, to some 20 roundings of float32, and two
    // roundings of a weight of at most 5.
    CHECK((found.state("master").cpu() - expected.state("master")).abs().max().item<double>() <
          5 * (0.01 * 20 + 2 * 5) * 0x1p-24);
    CHECK(found.compute()
              .narrow(0, 0, found.spec().trainable_numel)
              .equal(found.state("master").to(at::kBFloat16)));
  }
}

TEST_CASE("AdamW that replays a CUDA graph equals AdamW that launches, bit for bit") {
  if (test::skipped_without_gpu()) return;
  Trained launched(kOnGpu);
  Trained replayed(kOnGpu, /*replays=*/true);
  for (std::uint64_t step = 0; step < 4; ++step) {
    for (Trained* each : {&launched, &replayed}) {
      each->set_gradients(step);
      if (step == 1) each->sharding.units()[1].gradient()[3].fill_(kInf);
    }
    const double rate = 0.01 * static_cast<double>(step + 1);
    const UpdateResult expected = launched.optimizer.step(rate);
    const UpdateResult found = replayed.optimizer.step(rate);

    CHECK((replayed.bytes() == launched.bytes()));
    CHECK(found.tensor_square_sums.equal(expected.tensor_square_sums));
    CHECK(found.skipped.item<double>() == (step == 1 ? 1 : 0));
  }
  CHECK(replayed.optimizer.applied_updates() == 3);
}

TEST_CASE("AdamW with its state on the host equals AdamW on the GPU, bit for bit") {
  if (test::skipped_without_gpu()) return;
  ShardedUnits::Options placement = kOnGpu;
  for (const auto compute : {at::kBFloat16, at::kFloat}) {
    placement.compute_type = compute;
    placement.state_on_host = false;
    Trained on_device(placement);
    placement.state_on_host = true;
    Trained offloaded(placement);
    for (Unit& unit : offloaded.sharding.units()) {
      CHECK(unit.state("master").is_cpu());
      CHECK(unit.state("master").is_pinned());
    }
    REQUIRE((offloaded.bytes() == on_device.bytes()));
    for (std::uint64_t step = 0; step < 6; ++step) {
      const std::string before = offloaded.bytes();
      for (Trained* each : {&on_device, &offloaded}) {
        each->set_gradients(step);
        if (step == 2) each->sharding.units()[0].gradient()[301 * 257 - 1].fill_(kInf);
      }
      const UpdateResult expected = on_device.optimizer.step(0.01);
      const UpdateResult found = offloaded.optimizer.step(0.01);

      CHECK(found.tensor_square_sums.equal(expected.tensor_square_sums));
      CHECK(found.skipped.item<double>() == (step == 2 ? 1 : 0));
      CHECK((offloaded.bytes() == before) == (step == 2));
      CHECK((offloaded.bytes() == on_device.bytes()));
    }
    CHECK(offloaded.optimizer.applied_updates() == 5);
    if (compute == at::kFloat) continue;
    CHECK(name_nonfinite(offloaded.sharding,
                         on_device.optimizer.step(kInf).tensor_square_sums.cpu()) ==
          "no weight and no gradient of this rank");
  }
}

}  // namespace wam
