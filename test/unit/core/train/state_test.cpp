// The state model: flat units, their shards, and state that moves between numbers of ranks.
#include <cstring>

#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>

#include "core/base/errors.h"
#include "core/train/manifest.h"
#include "core/train/reshard.h"
#include "core/train/state_hash.h"
#include "core/train/unit.h"
#include "test/support/catch.h"

namespace wam {
namespace {

using Bytes = std::vector<unsigned char>;
// files[i]["unit/array"] = the bytes that rank i wrote.
using Files = std::vector<std::map<std::string, Bytes>>;

// A half-frozen unit with odd sizes and an extra array, a trainable one, and one that is all
// frozen.
std::vector<UnitSpec> make_units() {
  std::vector<UnitSpec> units;
  units.push_back(make_unit("blocks.0", {{.name = "frozen_a", .shape = {5, 7}, .trainable = false},
                                         {.name = "weight", .shape = {43, 11}},
                                         {.name = "frozen_b", .shape = {64}, .trainable = false},
                                         {.name = "bias", .shape = {43}, .decayed = false},
                                         {.name = "scalar", .shape = {}, .decayed = false}}));
  units.back().state_arrays.emplace_back("ema");
  units.push_back(
      make_unit("head", {{.name = "w", .shape = {3, 64}}, {.name = "b", .shape = {3}}}));
  units.push_back(make_unit("stem", {{.name = "s", .shape = {9}, .trainable = false}}));
  return units;
}

std::vector<Unit> make_shards(const std::vector<UnitSpec>& specs, int shard_idx, int num_shards) {
  std::vector<Unit> units;
  for (const UnitSpec& spec : specs) {
    units.emplace_back(spec, UnitPlacement{.shard_idx = shard_idx, .num_shards = num_shards});
    units.back().allocate_state();
  }
  return units;
}

// Elements of the flat range that belong to no tensor.
std::vector<std::int64_t> padding_of(const UnitSpec& spec, std::int64_t numel) {
  std::vector<bool> used(static_cast<std::size_t>(numel));
  for (const TensorSpec& t : spec.tensors) {
    for (std::int64_t i = t.offset; i < std::min(numel, t.offset + t.numel()); ++i) {
      used[static_cast<std::size_t>(i)] = true;
    }
  }
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < numel; ++i) {
    if (!used[static_cast<std::size_t>(i)]) out.push_back(i);
  }
  return out;
}

void fill_states(std::vector<Unit>& units) {
  double start = 1;
  for (Unit& unit : units) {
    for (auto& [array, state] : unit.states()) {
      for (const TensorSpec& t : unit.spec().tensors) {
        if (!t.trainable) continue;
        state.narrow(0, t.offset, t.numel())
            .copy_(at::arange(start, start + static_cast<double>(t.numel())).mul(1.0 / 3));
        start += 1000;
      }
    }
  }
}

Bytes bytes_of(const at::Tensor& tensor) {
  Bytes out(tensor.nbytes());
  if (!out.empty()) std::memcpy(out.data(), tensor.const_data_ptr(), out.size());
  return out;
}

Files write_all(const std::vector<std::vector<Unit>*>& ranks) {
  Files files(ranks.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    for (Unit& unit : *ranks[r]) {
      for (auto& [array, state] : unit.states()) {
        files[r][unit.spec().name + "/" + array] = bytes_of(state);
      }
    }
  }
  return files;
}

void read_all(const Files& files, const Manifest& manifest, std::vector<Unit>& units) {
  for (Unit& unit : units) {
    const ManifestUnit& saved = manifest.unit(unit.spec().name);
    REQUIRE(unit_differences(saved, unit.spec()).empty());
    for (auto& [array, state] : unit.states()) {
      for (const RangeCopy& copy : plan_range(saved.held, saved.trainable_numel, unit.shard().begin,
                                              unit.shard().end, "state")) {
        const Bytes& from = files[copy.holder].at(saved.name + "/" + array);
        REQUIRE(static_cast<std::size_t>(copy.holder_offset + copy.numel) * 4 <= from.size());
        std::memcpy(static_cast<float*>(state.mutable_data_ptr()) + copy.target_offset,
                    from.data() + copy.holder_offset * 4, static_cast<std::size_t>(copy.numel) * 4);
      }
    }
  }
}

// Saves on `ranks`, and loads what was saved on `num_shards` of them, through the manifest's text.
std::vector<std::vector<Unit>> reshard(std::vector<std::vector<Unit>>& ranks, int num_shards) {
  const std::vector<UnitSpec> specs = make_units();
  Manifest manifest;
  for (const UnitSpec& spec : specs) {
    manifest.units.push_back(describe_unit(spec, static_cast<int>(ranks.size()), at::kFloat));
  }
  const Manifest read_back = parse_manifest(manifest_text(manifest), "the test's manifest");
  std::vector<std::vector<Unit>*> pointers;
  for (auto& units : ranks) pointers.push_back(&units);
  const Files files = write_all(pointers);
  std::vector<std::vector<Unit>> out;
  for (int i = 0; i < num_shards; ++i) {
    out.push_back(make_shards(specs, i, num_shards));
    read_all(files, read_back, out.back());
  }
  return out;
}

TEST_CASE("A unit holds trainable tensors first, each at a multiple of the alignment") {
  const UnitSpec unit = make_units().front();

  REQUIRE(unit.tensors.size() == 5);
  CHECK(unit.tensors[0].name == "weight");
  CHECK(unit.tensors[1].name == "bias");
  CHECK(unit.tensors[2].name == "scalar");
  CHECK(unit.tensors[3].name == "frozen_a");
  CHECK(unit.tensors[4].name == "frozen_b");
  CHECK(unit.tensors[0].offset == 0);
  CHECK(unit.tensors[1].offset == 512);  // 43 * 11 = 473
  CHECK(unit.tensors[2].offset == 576);
  CHECK(unit.tensors[3].offset == 640);
  CHECK(unit.tensors[4].offset == 704);
  CHECK(unit.trainable_numel == 640);
  CHECK(unit.numel == 768);
  CHECK(unit.index_of("frozen_b") == 4);
  CHECK_THROWS_WITH(unit.index_of("none"), Catch::Contains("unit blocks.0 has no tensor none"));
}

TEST_CASE("Shards tile the trainable range, in aligned pieces, for any number of ranks") {
  for (const UnitSpec& unit : make_units()) {
    for (const int num_shards : {1, 2, 3, 4, 7, 8, 64, 1000}) {
      std::int64_t at = 0;
      for (int i = 0; i < num_shards; ++i) {
        const ShardRange range = shard_range(unit, i, num_shards);
        CHECK(range.begin == at);
        CHECK(range.piece % kUnitAlignment == 0);
        CHECK(range.numel() <= range.piece);
        CHECK(range.begin % kUnitAlignment == 0);
        at = range.end;
      }
      CHECK(at == unit.trainable_numel);
    }
  }
}

TEST_CASE("State resharded 1 -> 2 -> 3 -> 1 is the same byte for byte") {
  std::vector<std::vector<Unit>> one;
  one.push_back(make_shards(make_units(), 0, 1));
  fill_states(one[0]);
  const Files before = write_all({&one[0]});
  REQUIRE(before[0].size() == 4 + 3 + 3);
  REQUIRE(before[0].at("blocks.0/ema").size() == 640 * 4);
  REQUIRE(before[0].at("stem/master").empty());

  auto two = reshard(one, 2);
  auto three = reshard(two, 3);
  auto last = reshard(three, 1);

  CHECK(two[1][0].state("ema").numel() == 320);
  CHECK(three[2][0].state("ema").numel() == 128);  // pieces of 256
  CHECK(write_all({&last[0]}) == before);
  // and each shard is the matching part of the whole
  for (const auto* ranks : {&two, &three}) {
    for (const auto& units : *ranks) {
      Unit shard = units[0];
      CHECK(bytes_of(shard.state("exp_avg")) ==
            bytes_of(one[0][0].state("exp_avg").slice(0, shard.shard().begin, shard.shard().end)));
    }
  }
}

TEST_CASE("Padding stays zero under everything that writes to units") {
  for (const UnitSpec& spec : make_units()) {
    Unit unit(spec, {});
    unit.allocate_compute();
    unit.allocate_gradient();
    unit.allocate_state();

    for (std::size_t i = 0; i < spec.tensors.size(); ++i) {
      unit.weight(i).fill_(2.5);
      if (spec.tensors[i].trainable) {
        unit.weight_gradient(i).fill_(-1.25);
      } else {
        CHECK_FALSE(unit.weight_gradient(i).defined());
      }
    }
    // What an element-wise optimizer does with the flat buffers.
    unit.state("exp_avg").mul_(0.9).add_(unit.gradient(), 0.1);
    unit.state("master").sub_(unit.state("exp_avg"), 0.5);

    for (const std::int64_t i : padding_of(spec, spec.trainable_numel)) {
      CHECK(unit.compute()[i].item<float>() == 0);
      CHECK(unit.gradient()[i].item<float>() == 0);
      CHECK(unit.state("exp_avg")[i].item<float>() == 0);
      CHECK(unit.state("master")[i].item<float>() == 0);
    }
    // Frozen tensors lie elsewhere.
    std::int64_t values = 0;
    for (const TensorSpec& t : spec.tensors) values += t.trainable ? t.numel() : 0;
    CHECK(unit.compute().sum().item<double>() == 2.5 * static_cast<double>(values));
  }
}

TEST_CASE("Allocating twice keeps what is there") {
  Unit unit(make_units()[0], {});
  unit.allocate_state();
  unit.state("ema").fill_(3);
  unit.allocate_state();
  CHECK(unit.state("ema").min().item<float>() == 3);
  CHECK_THROWS_WITH(unit.state("emma"), Catch::Contains("holds no state array emma"));
}

TEST_CASE("The state's hash is that of every bit of every rank") {
  auto units = make_shards(make_units(), 0, 2);
  units[0].state("exp_avg").fill_(0.25);
  const std::string alone = state_hash(units, {});
  CHECK(alone.size() == 16);
  CHECK(state_hash(units, {}) == alone);

  // The other rank says something else, and afterwards something else again.
  std::vector<std::string> given;
  const auto beside = [&](const std::string& other) {
    return state_hash(units, [&](const std::string& /*key*/, const std::string& mine) {
      given.push_back(mine);
      return std::vector<std::string>{mine, other};
    });
  };
  CHECK(beside("1") != beside("2"));
  CHECK(given == std::vector<std::string>{alone, alone});

  units[1].state("exp_avg_sq")[0] = -0.0F;  // a bit that no comparison of values sees
  CHECK(state_hash(units, {}) != alone);
}

TEST_CASE("A range that no file holds, or two do, is refused") {
  const std::vector<HeldRange> gap{{0, 0, 64}, {1, 128, 192}};
  CHECK_THROWS_WITH(plan_range(gap, 192, 0, 64, "blocks.0/master"),
                    Catch::Contains("putting blocks.0/master together: elements [64, 128) are held "
                                    "by no file"));
  const std::vector<HeldRange> overlap{{0, 0, 128}, {1, 64, 192}};
  CHECK_THROWS_WITH(plan_range(overlap, 192, 0, 64, "x"),
                    Catch::Contains("elements [64, 128) are held twice"));
  const std::vector<HeldRange> cut{{0, 0, 128}};
  CHECK_THROWS_WITH(plan_range(cut, 192, 0, 64, "x"),
                    Catch::Contains("the files hold 128 elements, expected 192"));
  CHECK_THROWS_AS(plan_range(cut, 128, 0, 129, "x"), InvariantError);
}

}  // namespace
}  // namespace wam
