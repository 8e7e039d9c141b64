#include "data/normalise/compute.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/base/errors.h"
#include "data/lerobot_writer/writer.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"

using Catch::Contains;
using wam::BoundDataset;
using wam::compute_statistics;
using wam::Embodiment;
using wam::KeyStatistics;

namespace {

constexpr std::int64_t kHorizon = 4;

// Rows of an episode: two joints and a gripper, of the state and of the action.
struct Episode {
  std::vector<float> state;
  std::vector<float> action;

  [[nodiscard]] std::size_t rows() const { return state.size() / 3; }
};

std::vector<Episode> episodes(const std::vector<std::size_t>& lengths, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> draw(0.5F * static_cast<float>(seed), 1);
  std::vector<Episode> out;
  for (const std::size_t rows : lengths) {
    Episode& episode = out.emplace_back();
    for (std::size_t i = 0; i < 3 * rows; ++i) {
      episode.state.push_back(draw(generator));
      episode.action.push_back(draw(generator));
    }
  }
  return out;
}

class Set {
 public:
  explicit Set(const std::vector<Episode>& recorded, wam::PictureSize picture = {32, 64}) {
    wam::lerobot_writer::Format format;
    format.pictures = wam::lerobot_writer::PictureLayout::kImages;
    format.vectors = {{"observation.state", {"a", "b", "c"}}, {"action", {"a", "b", "c"}}};
    wam::lerobot_writer::Writer writer(folder_.path() / "set", format);
    for (const Episode& episode : recorded) {
      wam::lerobot_writer::Recording recording;
      recording.frames = static_cast<std::int64_t>(episode.rows());
      recording.task = "reach";
      recording.vectors = {episode.state, episode.action};
      writer.add(recording);
    }
    writer.finish();
    reader_ = std::make_unique<wam::LeRobotReader>(folder_.path() / "set");
    binding_.state = {{"observation.state", 0, 2}, {"observation.state", 2, 3}};
    binding_.action = {{"action", 0, 2}, {"action", 2, 3}};
    binding_.picture = picture;
  }
  [[nodiscard]] BoundDataset bound() const { return {reader_.get(), &binding_}; }
  wam::Binding& binding() { return binding_; }

 private:
  wam::test::TempFolder folder_;
  std::unique_ptr<wam::LeRobotReader> reader_;
  wam::Binding binding_;
};

Embodiment arm() {
  Embodiment e;
  e.tag = "arm";
  e.views = {"front"};
  e.state_keys = {"joint", "grip"};
  e.action_keys = {"joint", "grip"};
  e.relative_action_keys = {"joint"};
  e.action_horizon = kHorizon;
  return e;
}

double quantile(const std::vector<float>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const auto low = static_cast<double>(sorted[below]);
  const auto high = static_cast<double>(sorted[std::min(below + 1, sorted.size() - 1)]);
  return low + (high - low) * (position - static_cast<double>(below));
}

// Dimension d of `key` against the list of its values.
void check_dimension(const KeyStatistics& key, std::size_t d, std::vector<float> values) {
  double sum = 0;
  for (const float v : values) sum += static_cast<double>(v);
  const double mean = sum / static_cast<double>(values.size());
  double squares = 0;
  for (const float v : values) squares += std::pow(static_cast<double>(v) - mean, 2);
  std::sort(values.begin(), values.end());

  CHECK(key.min[d] == static_cast<double>(values.front()));
  CHECK(key.max[d] == static_cast<double>(values.back()));
  CHECK(key.mean[d] == Approx(mean).epsilon(1e-13));
  CHECK(key.std[d] ==
        Approx(std::sqrt(squares / static_cast<double>(values.size()))).epsilon(1e-13));
  CHECK(key.q01[d] == Approx(quantile(values, 0.01)).epsilon(1e-13));
  CHECK(key.q99[d] == Approx(quantile(values, 0.99)).epsilon(1e-13));
}

std::vector<float> column(const std::vector<Episode>& all, bool action, std::size_t d) {
  std::vector<float> out;
  for (const Episode& e : all) {
    for (std::size_t i = 0; i < e.rows(); ++i)
      out.push_back((action ? e.action : e.state)[3 * i + d]);
  }
  return out;
}

std::vector<float> relative(const std::vector<Episode>& all, std::size_t d) {
  std::vector<float> out;
  for (const Episode& e : all) {
    for (std::size_t i = 0; i + kHorizon <= e.rows(); ++i) {
      for (std::size_t j = 0; j < kHorizon; ++j)
        out.push_back(e.action[3 * (i + j) + d] - e.state[3 * i + d]);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("statistics are those of the pooled rows of all datasets, unweighted") {
  auto all = episodes({30, 3, 7}, 1);
  const Set large(all);
  const auto few = episodes({5}, 2);
  const Set small(few);
  all.insert(all.end(), few.begin(), few.end());

  const auto computed = compute_statistics({large.bound(), small.bound()}, arm());

  CHECK(computed.rows == 45);
  const auto& s = computed.statistics;
  for (const std::size_t d : {0U, 1U}) {
    check_dimension(s.state.at("joint"), d, column(all, false, d));
    check_dimension(s.action.at("joint"), d, relative(all, d));
  }
  check_dimension(s.state.at("grip"), 0, column(all, false, 2));
  check_dimension(s.action.at("grip"), 0, column(all, true, 2));
  CHECK(s.action.at("joint").relative == true);
  CHECK(s.action.at("grip").relative == false);
}

TEST_CASE("the number of threads changes no bit of the statistics, and progress ends once") {
  const Set set(episodes({20, 4, 9, 40, 6, 11, 30, 8}, 3));
  const auto alone = compute_statistics({set.bound()}, arm());
  for (const unsigned threads : {2U, 7U}) {
    std::vector<std::int64_t> done;
    wam::ComputeOptions options;
    options.threads = threads;
    options.on_progress = [&](std::int64_t n, std::int64_t total) {
      CHECK(total == 16);
      done.push_back(n);
    };
    CHECK(compute_statistics({set.bound()}, arm(), options).statistics == alone.statistics);
    REQUIRE(done.size() == 16);
    CHECK(std::is_sorted(done.begin(), done.end()));
    CHECK(done.back() == 16);
  }
}

TEST_CASE("extremes are found where they are: dataset, episode, frame") {
  auto first = episodes({10, 12}, 4);
  auto second = episodes({15, 20}, 5);
  second[1].state[3 * 7 + 1] = 1e6F;
  second[1].state[3 * 9 + 1] = 1e6F;    // as far, and later
  first[1].action[3 * 11 + 2] = -1e6F;  // the last frame
  const Set a(first);
  const Set b(second);

  const auto extremes = compute_statistics({a.bound(), b.bound()}, arm(), {.threads = 4}).extremes;

  const auto& high = extremes.at("state.joint").max[1];
  CHECK(high.dataset == 1);
  CHECK(high.episode_idx == 1);
  CHECK(high.frame == 7);
  const auto& low = extremes.at("action.grip").min[0];
  CHECK(low.dataset == 0);
  CHECK(low.episode_idx == 1);
  CHECK(low.frame == 11);
  // Action minus that state: the block that starts there.
  CHECK(extremes.at("action.joint").min[1].frame == 7);
}

TEST_CASE("a value that is not finite is refused with the first episode that has one") {
  auto recorded = episodes({9, 9, 9, 9, 9, 9}, 6);
  recorded[2].state[3 * 5] = std::numeric_limits<float>::quiet_NaN();
  recorded[4].action[3] = std::numeric_limits<float>::infinity();
  const Set set(recorded);
  for (const unsigned threads : {1U, 6U}) {
    CHECK_THROWS_WITH(compute_statistics({set.bound()}, arm(), {.threads = threads}),
                      Contains("episode 2, frame 5, column 'observation.state'") &&
                          Contains("not finite") && Contains("Fix:"));
  }
}

TEST_CASE("values that are not finite are left out and counted where that is wished") {
  auto recorded = episodes({9, 12}, 6);
  recorded[0].state[3 * 5] = std::numeric_limits<float>::quiet_NaN();
  recorded[1].action[3 * 2 + 2] = std::numeric_limits<float>::infinity();
  const Set set(recorded);
  wam::ComputeOptions options;
  options.threads = 2;
  options.not_finite = wam::NotFinite::kLeftOut;
  const auto computed = compute_statistics({set.bound()}, arm(), options);
  CHECK(computed.left_out == 2);
  const auto finite = [](std::vector<float> values) {
    std::erase_if(values, [](float v) { return !std::isfinite(v); });
    return values;
  };
  const auto& s = computed.statistics;
  check_dimension(s.state.at("joint"), 0, finite(column(recorded, false, 0)));
  check_dimension(s.action.at("joint"), 0, finite(relative(recorded, 0)));
  check_dimension(s.action.at("grip"), 0, finite(column(recorded, true, 2)));

  auto none = episodes({9}, 6);
  for (std::size_t i = 0; i < 9; ++i)
    none[0].state[3 * i + 2] = std::numeric_limits<float>::quiet_NaN();
  const Set blind(none);
  CHECK_THROWS_WITH(compute_statistics({blind.bound()}, arm(), options),
                    Contains("state grip: no row has a finite value") && Contains("Fix:"));
}

TEST_CASE("relative actions need an episode as long as a block") {
  const Set set(episodes({3, 2, 1}, 7));
  CHECK_THROWS_WITH(compute_statistics({set.bound()}, arm()),
                    Contains("no episode has the 4 frames of one block") && Contains("Fix:"));
  Embodiment absolute = arm();
  absolute.relative_action_keys.clear();
  CHECK_NOTHROW(compute_statistics({set.bound()}, absolute));
}

TEST_CASE("datasets of one embodiment that differ in width or picture are refused") {
  const Set first(episodes({9}, 8));
  Set other(episodes({9}, 8));
  other.binding().action[0].end = 1;
  CHECK_THROWS_WITH(compute_statistics({first.bound(), other.bound()}, arm()),
                    Contains("column 'action' has 1 values where") && Contains("Fix:"));
  const Set larger(episodes({9}, 8), {180, 320});
  CHECK_THROWS_WITH(compute_statistics({first.bound(), larger.bound()}, arm()),
                    Contains("180x320") && Contains("32x64") && Contains("Fix:"));
}
