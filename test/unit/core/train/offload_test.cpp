#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <ATen/TensorOperators.h>

#include "core/train/offloaded_update.h"
#include "core/train/optimizer.h"
#include "parallel/strategies/sharded_units.h"
#include "test/support/adamw_twin.h"
#include "test/support/catch.h"

namespace wam {
namespace {

using test::bytes_of;
using test::draws;

// Two units that are trained, on the CPU.
struct Trained {
  explicit Trained(ShardedUnits::Options placement)
      : sharding({make_unit("blocks.0",
                            {{.name = "w", .shape = {61, 57}},
                             {.name = "frozen", .shape = {70}, .trainable = false},
                             {.name = "bias", .shape = {57}, .decayed = false}}),
                  make_unit("head",
                            {{.name = "h", .shape = {64, 3}},
                             {.name = "scale", .shape = {}, .decayed = false}})},
                 placement),
        optimizer(sharding, {.weight_decay = 0.1, .clip_norm = 1}) {
    std::uint64_t key = 0;
    for_each_tensor([&](Unit& unit, const TensorSpec& t) {
      unit.state("master").narrow(0, t.offset, t.numel()).copy_(draws(++key, t.numel()));
    });
    sharding.publish_weights();
  }

  template <class Visit>
  void for_each_tensor(const Visit& visit) {
    for (Unit& unit : sharding.units()) {
      for (const TensorSpec& t : unit.spec().tensors) {
        if (t.trainable) visit(unit, t);
      }
    }
  }

  UpdateResult step(std::uint64_t step, double first_gradient) {
    sharding.begin_step();
    std::uint64_t key = 100 * (step + 1);
    for_each_tensor([&](Unit& unit, const TensorSpec& t) {
      unit.gradient().narrow(0, t.offset, t.numel()).copy_(draws(++key, t.numel()));
    });
    sharding.units()[0].gradient()[0].fill_(first_gradient);
    return optimizer.step(0.01 * static_cast<double>(step + 1));
  }

  // Weights, moments and compute copies.
  std::string bytes() {
    std::string out;
    for (Unit& unit : sharding.units()) {
      for (const auto& [name, state] : unit.states()) add(out, state);
      add(out, unit.compute());
    }
    return out;
  }

  ShardedUnits sharding;
  AdamW optimizer;

 private:
  static void add(std::string& out, const at::Tensor& array) {
    out.append(static_cast<const char*>(array.const_data_ptr()), array.nbytes());
  }
};

// `shards` after three updates, in pieces.
std::string updated_in_pieces(const std::vector<AdamWShard>& shards,
                              std::int64_t piece_elements,
                              at::ScalarType compute) {
  std::vector<AdamWShard> copies;
  copies.reserve(shards.size());
  std::vector<const AdamWShard*> pointers;
  for (const AdamWShard& shard : shards) {
    copies.push_back(test::on(shard, at::kCPU, at::kFloat));
    pointers.push_back(&copies.back());
  }
  WorkerPool workers(2);
  OffloadedUpdate offload(pointers, {.compute_type = compute, .piece_elements = piece_elements},
                          workers);
  for (const std::int64_t update : {1, 2, 3}) {
    offload.run(test::decided(at::kCPU, update, 3), test::kOptions);
  }
  std::string out;
  for (const AdamWShard& shard : copies) out += bytes_of(shard);
  return out;
}

}  // namespace

TEST_CASE("an offloaded update in pieces of any size equals the update of whole shards") {
  for (const auto compute : {at::kBFloat16, at::kFloat}) {
    // Decayed and other tensors in turns; pieces end within them and between them.
    const std::vector<AdamWShard> shards{
        test::make_shard({143, 13, 1, 70, 4096, 513}, compute), test::make_shard({}, compute),
        test::make_shard({1}, compute), test::make_shard({597 * 43, 7}, compute)};
    std::string expected;
    for (const AdamWShard& shard : shards) {
      const AdamWShard whole = test::on(shard, at::kCPU, at::kFloat);
      for (const std::int64_t update : {1, 2, 3}) {
        adamw_update(whole, test::decided(at::kCPU, update, 3), test::kOptions);
      }
      expected += bytes_of(whole);
    }
    for (const std::int64_t piece : {512, 1024, 5120, 8 * 1024 * 1024}) {
      CHECK((updated_in_pieces(shards, piece, compute) == expected));
    }
  }
}

TEST_CASE("AdamW with its state on the host: the same bits, skipped updates leave no trace") {
  const std::vector<ShardedUnits::Options> placements{
      {.compute_type = at::kBFloat16},
      {.compute_type = at::kFloat},
      {.compute_type = at::kDouble, .state_type = at::kDouble}};
  for (ShardedUnits::Options placement : placements) {
    Trained plain(placement);
    placement.state_on_host = true;
    Trained offloaded(placement);
    for (std::uint64_t step = 0; step < 6; ++step) {
      const double first = step == 3 ? std::numeric_limits<double>::infinity() : 0.5;
      const std::string before = offloaded.bytes();

      const UpdateResult expected = plain.step(step, first);
      const UpdateResult found = offloaded.step(step, first);

      CHECK(found.grad_norm.item<double>() == expected.grad_norm.item<double>());
      CHECK(found.skipped.item<double>() == (step == 3 ? 1 : 0));
      CHECK((offloaded.bytes() == before) == (step == 3));
      CHECK((offloaded.bytes() == plain.bytes()));
    }
    CHECK(offloaded.optimizer.applied_updates() == 5);
  }
}

}  // namespace wam
