#include "data/loader/guarded_dataset.h"

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <ATen/ops/full.h>

#include "core/base/data_errors.h"
#include "data/loader/loader.h"
#include "test/support/catch.h"
#include "test/support/clip_plans.h"

using wam::BadSample;
using wam::BadSampleRule;
using wam::ContentError;
using wam::DataError;
using wam::GuardedDataset;
using wam::ReadError;
using wam::Transforms;

namespace {

// Windows 0 to 9 are of one dataset, 10 to 29 of another.
class FaultyDataset : public wam::Dataset {
 public:
  [[nodiscard]] std::uint64_t size() const override { return 30; }
  [[nodiscard]] wam::SampleId identify(std::uint64_t window_idx) const override {
    return {window_idx < 10 ? 0 : 1, static_cast<std::int64_t>(window_idx), 0};
  }
  [[nodiscard]] wam::Sample load(std::uint64_t window_idx,
                                 std::uint64_t ordinal,
                                 Transforms /*transforms*/) const override {
    ++loads;
    if (failing_reads-- > 0) throw ReadError("reading x.mp4: stale handle.");
    if (bad.contains(window_idx)) throw ContentError("x.mp4 is cut off. Fix: copy it.");
    if (wrong) throw DataError("an odd recipe");
    wam::Sample sample;
    sample.id = identify(window_idx);
    sample.ordinal = ordinal;
    sample.clip = wam::test::still_clip(at::full({1, 2, 2, 3}, 1, at::kByte));
    sample.state_NS = at::full({1, 4}, static_cast<double>(window_idx), at::kFloat);
    sample.action_PA = at::full({2, 3}, 0.0, at::kFloat);
    sample.action_mask_PA = at::full({2, 3}, true, at::kBool);
    sample.prompt = "p";
    if (marked.contains(window_idx)) sample.replaced.push_back({ordinal, sample.id, "marked"});
    return sample;
  }
  [[nodiscard]] std::vector<std::string> prompts() const override { return {"p"}; }
  [[nodiscard]] std::string fingerprint() const override { return "fake"; }
  [[nodiscard]] wam::ActionMeaning action_meaning(std::int32_t /*dataset*/) const override {
    return {};
  }
  [[nodiscard]] at::Tensor physical_actions(std::int32_t /*dataset*/,
                                            const at::Tensor& action_PA) const override {
    return action_PA;
  }

  std::set<std::uint64_t> bad;
  std::set<std::uint64_t> marked;  // noted as left out by the dataset itself
  bool wrong = false;
  mutable std::atomic<int> failing_reads{0};
  mutable std::atomic<int> loads{0};
};

class OneText : public wam::TextEmbeddings {
 public:
  [[nodiscard]] at::Tensor rows(const std::string& /*prompt*/) const override {
    return at::full({1, 4}, 1.0, at::kBFloat16);
  }
  [[nodiscard]] std::int64_t width() const override { return 4; }
};

BadSampleRule rule(bool replaces, std::int64_t limit = 100) {
  return {.replaces = replaces,
          .limit = limit,
          .sizes = {10, 20},
          .seed = 3,
          .pause = std::chrono::milliseconds(1)};
}

// What stands in a stream, and what was left out of it, by ordinal.
struct Stream {
  std::map<std::uint64_t, std::int64_t> window;
  std::map<std::uint64_t, std::vector<std::int64_t>> replaced;
  bool operator==(const Stream&) const = default;
};

void read_rank(const std::shared_ptr<const wam::Dataset>& data,
               const wam::BatchPlan& plan,
               std::int64_t workers,
               Stream& out) {
  const wam::SampleOrder order({10, 20}, {1, 1}, 5);
  const OneText text;
  wam::LoaderOptions options;
  options.plan = plan;
  options.workers = workers;
  wam::Loader loader(data, order, text, options);
  for (std::int64_t i = 0; i < 8 * loader.micro_steps(); ++i) {
    const wam::Batch batch = loader.next();
    for (std::size_t b = 0; b < batch.id.size(); ++b) {
      out.window[batch.ordinal[b]] = batch.id[b].episode;
    }
    for (const BadSample& bad : batch.replaced) {
      out.replaced[bad.ordinal].push_back(bad.id.episode);
    }
  }
}

// Eight global batches of 12, on so many ranks.
Stream read_stream(const std::shared_ptr<const wam::Dataset>& data,
                   std::int64_t world,
                   std::int64_t micro,
                   std::int64_t workers) {
  Stream out;
  for (std::int64_t rank = 0; rank < world; ++rank) {
    read_rank(data, {.global_batch = 12, .micro_batch = micro, .rank = rank, .world = world},
              workers, out);
  }
  return out;
}

}  // namespace

TEST_CASE("bad samples: replaced alike on any number of ranks and workers, within their dataset") {
  const auto faulty = std::make_shared<FaultyDataset>();
  faulty->bad = {0, 3, 4, 5, 6, 12, 25};
  const auto data = std::make_shared<const GuardedDataset>(faulty, rule(true));
  const wam::SampleOrder order({10, 20}, {1, 1}, 5);

  const Stream expected = read_stream(data, 1, 12, 0);

  REQUIRE(expected.window.size() == 96);
  std::size_t most = 0;
  for (std::uint64_t ordinal = 0; ordinal < 96; ++ordinal) {
    const auto drawn = order.window(ordinal);
    const auto found = static_cast<std::uint64_t>(expected.window.at(ordinal));
    REQUIRE_FALSE(faulty->bad.contains(found));
    REQUIRE((found < 10) == (drawn < 10));
    REQUIRE(expected.replaced.contains(ordinal) == faulty->bad.contains(drawn));
    if (!faulty->bad.contains(drawn)) {
      REQUIRE(found == drawn);
      continue;
    }
    const auto& left_out = expected.replaced.at(ordinal);
    REQUIRE(left_out.front() == static_cast<std::int64_t>(drawn));
    most = std::max(most, left_out.size());
  }
  CHECK(most > 1);  // replacements that were bad themselves
  for (const std::int64_t world : {1, 3}) {
    for (const std::int64_t micro : {1, 5, 12}) {
      for (const std::int64_t workers : {0, 1, 5}) {
        INFO(world << " ranks, micro-batch " << micro << ", " << workers << " workers");
        CHECK(read_stream(data, world, micro, workers) == expected);
      }
    }
  }
}

TEST_CASE("bad samples: replacements are spread over the dataset") {
  const auto faulty = std::make_shared<FaultyDataset>();
  faulty->bad = {12};
  const GuardedDataset data(faulty, rule(true));
  std::set<std::int64_t> found;

  for (std::uint64_t ordinal = 0; ordinal < 200; ++ordinal) {
    found.insert(data.load(12, ordinal, Transforms::kTraining).id.episode);
  }

  CHECK(found.size() == 19);
}

TEST_CASE("bad samples: without a word about skipping they are errors, which say how to skip") {
  const auto faulty = std::make_shared<FaultyDataset>();
  faulty->bad = {12};
  const GuardedDataset data(faulty, rule(false));

  CHECK_THROWS_AS(data.load(12, 0, Transforms::kTraining), ContentError);
  CHECK_THROWS_WITH(data.load(12, 0, Transforms::kTraining),
                    Catch::Contains("x.mp4 is cut off. Fix: copy it.") &&
                        Catch::Contains("data.on_bad_sample: skip"));
  CHECK(faulty->loads == 2);
}

TEST_CASE("bad samples: a dataset of nothing else ends in an error") {
  const auto faulty = std::make_shared<FaultyDataset>();
  for (std::uint64_t w = 0; w < 10; ++w) faulty->bad.insert(w);
  const GuardedDataset data(faulty, rule(true, 7));

  CHECK_THROWS_WITH(data.load(2, 5, Transforms::kTraining),
                    Catch::Contains("sample 5: 8 windows in a row") &&
                        Catch::Contains("data.max_bad_samples (7)") &&
                        Catch::Contains("x.mp4 is cut off"));
  CHECK(faulty->loads == 8);
}

TEST_CASE("bad samples: a read that fails is repeated, and neither skipped nor repeated for ever") {
  const auto faulty = std::make_shared<FaultyDataset>();
  const GuardedDataset data(faulty, rule(true));

  faulty->failing_reads = 2;
  const auto sample = data.load(4, 0, Transforms::kTraining);
  CHECK(sample.id.episode == 4);
  CHECK(sample.replaced.empty());
  CHECK(faulty->loads == 3);

  faulty->failing_reads = 3;
  CHECK_THROWS_AS(data.load(4, 0, Transforms::kTraining), ReadError);
  CHECK(faulty->loads == 6);
  faulty->failing_reads = 3;
  CHECK_THROWS_WITH(data.load(4, 0, Transforms::kTraining),
                    Catch::Contains("stale handle") && Catch::Contains("3 times"));
}

TEST_CASE("bad samples: an error that is not about the content is not skipped") {
  const auto faulty = std::make_shared<FaultyDataset>();
  faulty->wrong = true;
  const GuardedDataset data(faulty, rule(true));

  CHECK_THROWS_WITH(data.load(4, 0, Transforms::kTraining), "an odd recipe");
  CHECK(faulty->loads == 1);
}

TEST_CASE("what a dataset itself notes as left out stays noted, behind what was replaced") {
  auto data = std::make_shared<FaultyDataset>();
  for (std::uint64_t window = 0; window < 10; ++window) data->marked.insert(window);
  CHECK(GuardedDataset(data, rule(false)).load(4, 0, Transforms::kTraining).replaced.size() == 1);
  data->bad = {4};
  const auto sample = GuardedDataset(data, rule(true)).load(4, 0, Transforms::kTraining);

  REQUIRE(sample.replaced.size() >= 2);
  CHECK(sample.replaced.front().why == "x.mp4 is cut off. Fix: copy it.");
  CHECK(sample.replaced.back().why == "marked");
}
