#include "core/weights/weights_load.h"

#include "core/base/errors.h"
#include "core/io/disk.h"
#include "test/support/temp_folder.h"
#include "test/unit/core/weights/weights_support.h"

namespace wam {
namespace {

using Catch::Contains;
using test::ramp;
using test::write_tensors;

std::vector<Unit> make_units(int shard_idx = 0, int num_shards = 1) {
  std::vector<Unit> units;
  units.emplace_back(
      make_unit("head", {{.name = "w", .shape = {43, 11}},
                         {.name = "f", .shape = {9}, .trainable = false},
                         {.name = "s", .shape = {}}}),
      UnitPlacement{
          .compute_type = at::kBFloat16, .shard_idx = shard_idx, .num_shards = num_shards});
  units[0].allocate_state();
  units[0].allocate_compute();
  return units;
}

std::filesystem::path write_source(const test::TempFolder& temp,
                                   std::map<std::string, at::Tensor> tensors) {
  const auto path = temp.path() / "model.safetensors";
  write_tensors(path, tensors);
  return path;
}

TEST_CASE("Weights fill this rank's part of master, frozen ones the compute copy") {
  const test::TempFolder temp;
  const at::Tensor w = ramp({43, 11}, 0, at::kBFloat16);
  const at::Tensor f = ramp({9}, 700, at::kFloat);
  const WeightsSource source(
      write_source(temp, {{"m.w", w}, {"m.f", f}, {"m.s", ramp({1}, 4)}, {"vae.x", ramp({2}, 0)}}));

  for (const int num_shards : {1, 2, 3}) {
    for (int i = 0; i < num_shards; ++i) {
      auto units = make_units(i, num_shards);
      const NameMatch match = load_units(source, "m.", units, Strictness::kStrict);
      CHECK(match.missing.empty());
      auto whole = make_units();
      whole[0].state("master").narrow(0, 0, 473).copy_(w.view({-1}).to(at::kFloat));
      whole[0].state("master")[512].fill_(static_cast<float>(4.0 / 3));
      const ShardRange& shard = units[0].shard();
      CHECK(units[0].state("master").equal(
          whole[0].state("master").slice(0, shard.begin, shard.end)));
      CHECK(units[0].weight(2).equal(f.to(at::kBFloat16)));
      CHECK(units[0].state("exp_avg").abs().max().item<float>() == 0);
    }
  }
}

TEST_CASE("Missing and unexpected names: an error, or for the caller to judge") {
  const test::TempFolder temp;
  const WeightsSource source(
      write_source(temp, {{"w", ramp({43, 11}, 0)}, {"x", ramp({1}, 4)}, {"s", ramp({}, 2)}}));
  auto units = make_units();

  CHECK_THROWS_AS(load_units(source, "", units, Strictness::kStrict), DataError);
  CHECK_THROWS_WITH(load_units(source, "", units, Strictness::kStrict),
                    Contains("model.safetensors (names that start with \"\"): they do not fit") &&
                        Contains("1 missing:\n    f") && Contains("1 unexpected:\n    x") &&
                        Contains("Fix: "));
  CHECK(units[0].state("master").abs().max().item<float>() == 0);  // nothing was written

  const NameMatch match = load_units(source, "", units, Strictness::kLenient);
  CHECK(match.missing == std::vector<std::string>{"f"});
  CHECK(match.unexpected == std::vector<std::string>{"x"});
  CHECK(units[0].state("master")[1].item<float>() == static_cast<float>(1.0 / 3));
}

TEST_CASE("A long list of names is cut, with their number") {
  const test::TempFolder temp;
  std::map<std::string, at::Tensor> tensors;
  for (int i = 0; i < 30; ++i) tensors["t" + std::to_string(i)] = ramp({1}, 0);
  const WeightsSource source(write_source(temp, tensors));
  CHECK_THROWS_WITH(
      require_complete(match_names(source, "", {}), source, ""),
      Contains("30 unexpected:\n    t0\n    t1\n    t10\n") && Contains("    and 10 more"));
}

TEST_CASE("Another shape or type is named, with what was expected") {
  const test::TempFolder temp;
  const WeightsSource source(write_source(
      temp, {{"w", ramp({11, 43}, 0)}, {"f", ramp({9}, 0, at::kLong)}, {"s", ramp({1, 1}, 2)}}));
  auto units = make_units();
  CHECK_THROWS_AS(load_units(source, "", units, Strictness::kLenient), DataError);
  CHECK_THROWS_WITH(load_units(source, "", units, Strictness::kLenient),
                    Contains("w has shape [11, 43], expected [43, 11]. Fix: "));
  at::Tensor out = ramp({9}, 0);
  CHECK_THROWS_WITH(read_weights(source, "f", {9}, 0, out),
                    Contains("f is of type I64, expected a float type"));
  CHECK_THROWS_WITH(read_weights(source, "s", {}, 0, out),
                    Contains("s has shape [1, 1], expected []"));
}

TEST_CASE("A single value may be stored as [] or [1]") {
  const test::TempFolder temp;
  const WeightsSource source(write_source(temp, {{"a", ramp({}, 3)}, {"b", ramp({1}, 6)}}));
  at::Tensor out = ramp({1}, 0);
  read_weights(source, "a", {1}, 0, out);
  CHECK(out.item<float>() == 1);
  read_weights(source, "b", {}, 0, out);
  CHECK(out.item<float>() == 2);
}

}  // namespace
}  // namespace wam
