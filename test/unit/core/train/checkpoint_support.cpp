#include "test/unit/core/train/checkpoint_support.h"

#include <chrono>
#include <fstream>
#include <thread>

#include <ATen/ops/arange.h>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "core/train/checkpoint_writer.h"

namespace wam::test {

std::vector<Unit> make_checkpoint_units(int shard_idx, int num_shards) {
  std::vector<UnitSpec> specs;
  specs.push_back(make_unit("blocks.0", {{.name = "blocks.0.w", .shape = {43, 11}},
                                         {.name = "blocks.0.f", .shape = {9}, .trainable = false},
                                         {.name = "blocks.0.b", .shape = {43}, .decayed = false}}));
  specs.back().state_arrays.emplace_back("ema");
  specs.push_back(make_unit("head", {{.name = "head.w", .shape = {3, 64}}}));
  std::vector<Unit> units;
  for (UnitSpec& spec : specs) {
    units.emplace_back(spec, UnitPlacement{.shard_idx = shard_idx, .num_shards = num_shards});
    units.back().allocate_state();
  }
  return units;
}

void fill_for_step(std::vector<Unit>& units, std::int64_t step) {
  double start = static_cast<double>(step) * 10;
  for (Unit& unit : units) {
    for (const std::string& array : unit.spec().state_arrays) {
      start += 10'000;
      const ShardRange& shard = unit.shard();
      unit.state(array).copy_(at::arange(start + static_cast<double>(shard.begin),
                                         start + static_cast<double>(shard.end))
                                  .mul(1.0 / 3));
    }
  }
}

std::map<std::string, std::string> state_bytes(std::vector<Unit>& units) {
  std::map<std::string, std::string> out;
  for (Unit& unit : units) {
    for (auto& [array, state] : unit.states()) {
      out[unit.spec().name + "/" + array] =
          std::string(static_cast<const char*>(state.const_data_ptr()), state.nbytes());
    }
  }
  return out;
}

RunState make_run(std::int64_t step) {
  RunState run;
  run.step = step;
  run.applied_updates = step - 1;
  run.data.samples_seen = static_cast<std::uint64_t>(step) * 8;
  run.recipe = "train:\n  steps: 100\n";
  return run;
}

void save_steps(const std::filesystem::path& folder, const std::vector<std::int64_t>& steps) {
  QuietLog log(folder.string() + ".log");
  auto units = make_checkpoint_units();
  CheckpointWriter writer({.folder = folder, .keep = 0}, units, log.log());
  for (const std::int64_t step : steps) {
    fill_for_step(units, step);
    writer.save(make_run(step));
  }
  writer.wait();
}

ExchangeTexts ThreadRanks::exchange(int rank) {
  return [this, rank](const std::string& key, const std::string& mine) {
    std::unique_lock lock(mutex_);
    auto& texts = texts_[key];
    invariant(texts.emplace(rank, mine).second, "a key that was used already");
    arrived_.notify_all();
    const bool all = arrived_.wait_for(lock, std::chrono::seconds(20),
                                       [&] { return texts.size() == world_size_; });
    require<CommError>(all, "{}: {} of {} ranks came", key, texts.size(), world_size_);
    std::vector<std::string> out;
    for (const auto& [from, text] : texts) out.push_back(text);
    return out;
  };
}

std::vector<std::string> ThreadRanks::run(const std::function<void(int rank)>& work) const {
  std::vector<std::string> messages(world_size_);
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < world_size_; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        work(static_cast<int>(rank));
      } catch (const std::exception& e) {
        messages[rank] = e.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return messages;
}

void flip_byte(const std::filesystem::path& file, std::int64_t position) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  const auto from = position < 0 ? std::ios::end : std::ios::beg;
  stream.seekg(position, from);
  const auto byte = static_cast<char>(stream.get() ^ 1);
  stream.seekp(position, from);
  stream.put(byte);
  stream.close();
  invariant(!stream.fail(), "the byte was not flipped");
}

std::string QuietLog::text() const {
  return read_file(file_);
}

}  // namespace wam::test
