#include "data/loader/loader.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/sum.h>

#include "core/base/errors.h"
#include "core/base/now_reading.h"
#include "core/random/counter.h"
#include "test/support/catch.h"
#include "test/support/clip_plans.h"

using wam::Batch;
using wam::Loader;
using wam::LoaderOptions;
using wam::SampleOrder;

namespace {

constexpr std::uint64_t kWindows = 23;

// Samples whose bytes tell window and ordinal; loading takes an uneven time.
class FakeDataset : public wam::Dataset {
 public:
  [[nodiscard]] std::uint64_t size() const override { return kWindows; }
  [[nodiscard]] wam::SampleId identify(std::uint64_t window_idx) const override {
    return {0, static_cast<std::int64_t>(window_idx), 0};
  }
  [[nodiscard]] wam::Sample load(std::uint64_t window_idx,
                                 std::uint64_t ordinal,
                                 wam::Transforms /*transforms*/) const override {
    ++loads;
    if (meeting > 0) meet();
    count_threads();
    std::this_thread::sleep_for(std::chrono::microseconds(ordinal * 7919 % 13 * 100));
    std::this_thread::sleep_for(pause);
    if (ordinal == hanging_ordinal) hang(ordinal);
    if (ordinal == bad_ordinal) {
      throw wam::DataError("set arm, episode 3: file x.mp4 ends early. Fix: copy it again");
    }
    wam::Sample sample;
    sample.id = identify(window_idx);
    sample.ordinal = ordinal;
    const at::Tensor image = at::empty({2, 2, 2, 3}, at::kByte);
    const wam::CounterStream stream(1, wam::Purpose::kAugmentation, ordinal);
    for (std::uint64_t i = 0; i < 24; ++i) {
      image.data_ptr<std::uint8_t>()[i] = static_cast<std::uint8_t>(stream.bits(i) + window_idx);
    }
    sample.clip = wam::test::still_clip(image);
    sample.state_NS = at::full({1, 4}, static_cast<double>(window_idx), at::kFloat);
    sample.action_PA = at::full({2, 3}, static_cast<double>(ordinal), at::kFloat);
    sample.action_mask_PA = at::full({2, 3}, true, at::kBool);
    sample.prompt = std::string(window_idx % 3 + 1, 'p');
    return sample;
  }
  [[nodiscard]] std::vector<std::string> prompts() const override { return {"p", "pp", "ppp"}; }
  [[nodiscard]] std::string fingerprint() const override { return "fake"; }
  [[nodiscard]] wam::ActionMeaning action_meaning(std::int32_t /*dataset*/) const override {
    return {};
  }
  [[nodiscard]] at::Tensor physical_actions(std::int32_t /*dataset*/,
                                            const at::Tensor& action_PA) const override {
    return action_PA;
  }

  // Waits until `meeting` samples are being loaded at once.
  void meet() const {
    using namespace std::chrono_literals;
    const auto give_up = std::chrono::steady_clock::now() + 5s;
    while (loads < meeting && std::chrono::steady_clock::now() < give_up) {
      std::this_thread::sleep_for(1ms);
    }
    if (loads < meeting) alone = true;
  }

  // Lets LibTorch work on something large, and counts the threads of the process.
  void count_threads() const {
    static_cast<void>(at::full({1 << 20}, 1.0).sum());
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    const std::int64_t now = std::distance(begin(tasks), end(tasks));
    if (now > most_threads) most_threads = now;
  }

  // As a read from a file system that does not answer.
  void hang(std::uint64_t ordinal) const {
    const wam::Reading reading(fmt::format("/slow/episode_{}.mp4", ordinal));
    std::unique_lock lock(mutex);
    hangs = true;
    released.wait(lock, [&] { return is_released; });
  }
  void release() {
    const std::lock_guard lock(mutex);
    is_released = true;
    released.notify_all();
  }

  std::uint64_t hanging_ordinal = ~std::uint64_t{0};
  std::chrono::milliseconds pause{0};
  mutable std::atomic<bool> hangs{false};
  mutable std::mutex mutex;
  mutable std::condition_variable released;
  bool is_released = false;
  std::uint64_t bad_ordinal = ~std::uint64_t{0};
  int meeting = 0;
  mutable std::atomic<bool> alone{false};
  mutable std::atomic<int> loads{0};
  mutable std::atomic<std::int64_t> most_threads{0};  // of the process, while samples load
};

// A prompt of n letters has n rows of n.
class FakeText : public wam::TextEmbeddings {
 public:
  [[nodiscard]] at::Tensor rows(const std::string& prompt) const override {
    const auto n = static_cast<std::int64_t>(prompt.size());
    return at::full({n, 4}, static_cast<double>(n), at::kBFloat16);
  }
  [[nodiscard]] std::int64_t width() const override { return 4; }
};

struct Stream {
  std::vector<std::uint64_t> ordinals;
  std::vector<std::int64_t> windows;
  std::string bytes;
  bool operator==(const Stream&) const = default;
};

void append(Stream& stream, const Batch& batch) {
  for (std::int64_t b = 0; b < batch.size(); ++b) {
    const auto i = static_cast<std::size_t>(b);
    stream.ordinals.push_back(batch.ordinal[i]);
    stream.windows.push_back(batch.id[i].episode);
    for (const auto& tensor :
         {batch.image_BTHWC, batch.state_BNS, batch.action_BPA, batch.action_mask_BPA}) {
      const at::Tensor one = tensor[b].contiguous();
      stream.bytes.append(static_cast<const char*>(one.const_data_ptr()), one.nbytes());
    }
    stream.bytes += batch.prompt[i] + std::to_string(batch.text_length[i]);
    CHECK(batch.text_BMD.size(1) == 64);
    CHECK(batch.text_BMD[b][batch.text_length[i] - 1][0].item<float>() ==
          static_cast<float>(batch.text_length[i]));
    CHECK(batch.text_BMD[b][batch.text_length[i]][0].item<float>() == 0);
  }
}

struct Setup {
  std::shared_ptr<FakeDataset> dataset = std::make_shared<FakeDataset>();
  SampleOrder order{{kWindows}, {1}, 5};
  FakeText text;

  Stream run(const LoaderOptions& options, int steps) {
    Loader loader(dataset, order, text, options);
    Stream stream;
    for (int i = 0; i < steps * loader.micro_steps(); ++i) append(stream, loader.next());
    CHECK(loader.samples_consumed() ==
          options.plan.start + static_cast<std::uint64_t>(steps) * options.plan.global_batch);
    return stream;
  }
};

LoaderOptions options(std::uint64_t global, std::int64_t micro, std::int64_t workers) {
  LoaderOptions out;
  out.plan.global_batch = global;
  out.plan.micro_batch = micro;
  out.workers = workers;
  out.prefetch_samples = 7;
  return out;
}

}  // namespace

TEST_CASE("a worker's sample takes one thread, and starts no others of LibTorch's") {
  const int threads = at::get_num_threads();
  at::set_num_threads(4);
  Setup setup;
  setup.dataset->count_threads();
  const std::int64_t with_team = setup.dataset->most_threads;  // of this thread
  static_cast<void>(setup.run(options(4, 2, 3), 2));
  CHECK(setup.dataset->most_threads == with_team + 3);
  at::set_num_threads(threads);
}

TEST_CASE("workers and micro-batch change neither order nor draws nor bytes") {
  Setup setup;
  const Stream expected = setup.run(options(8, 1, 0), 5);
  REQUIRE(expected.ordinals.size() == 40);
  for (std::uint64_t i = 0; i < 40; ++i) {
    REQUIRE(expected.ordinals[i] == i);
    REQUIRE(expected.windows[i] == static_cast<std::int64_t>(setup.order.window(i)));
  }
  for (const std::int64_t workers : {0, 1, 8}) {
    for (const std::int64_t micro : {1, 3, 8}) {
      INFO(workers << " workers, micro-batch " << micro);
      CHECK(setup.run(options(8, micro, workers), 5) == expected);
    }
  }
}

TEST_CASE("every worker has a sample to decode, however small the micro-batches") {
  for (const std::int64_t micro : {1, 2, 8}) {
    INFO("micro-batch " << micro);
    Setup setup;
    setup.dataset->meeting = 7;
    setup.run(options(4, micro, 7), 2);
    CHECK_FALSE(setup.dataset->alone);
  }
}

TEST_CASE("a resumed stream goes on where the other would have") {
  Setup setup;
  const Stream whole = setup.run(options(8, 3, 2), 6);
  auto later = options(8, 3, 2);
  later.plan.start = 32;

  const Stream resumed = setup.run(later, 2);

  CHECK(resumed.ordinals ==
        std::vector<std::uint64_t>(whole.ordinals.begin() + 32, whole.ordinals.end()));
  CHECK(resumed.bytes == whole.bytes.substr(whole.bytes.size() - resumed.bytes.size()));
}

TEST_CASE("two ranks see the samples of one, each once") {
  Setup setup;
  const Stream whole = setup.run(options(7, 7, 2), 3);
  std::vector<std::uint64_t> together(21);
  for (const std::int64_t rank : {0, 1}) {
    auto part = options(7, 2, 2);
    part.plan.rank = rank;
    part.plan.world = 2;
    const Stream stream = setup.run(part, 3);
    for (std::size_t i = 0; i < stream.ordinals.size(); ++i) {
      ++together[stream.ordinals[i]];
      CHECK(stream.windows[i] == whole.windows[stream.ordinals[i]]);
    }
  }
  CHECK(together == std::vector<std::uint64_t>(21, 1));
}

TEST_CASE("a rank without a sample gets an empty batch") {
  Setup setup;
  auto idle = options(1, 1, 1);
  idle.plan.rank = 1;
  idle.plan.world = 2;
  Loader loader(setup.dataset, setup.order, setup.text, idle);

  const Batch batch = loader.next();

  CHECK(batch.size() == 0);
  CHECK_FALSE(batch.image_BTHWC.defined());
  CHECK(loader.samples_consumed() == 1);
}

TEST_CASE("one batch repeated is the same to the byte") {
  Setup setup;
  auto repeated = options(4, 4, 2);
  repeated.plan.repeat_batch = true;

  const Stream stream = setup.run(repeated, 3);

  CHECK(stream.ordinals == std::vector<std::uint64_t>{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3});
  const auto third = stream.bytes.size() / 3;
  CHECK(stream.bytes.substr(0, third) == stream.bytes.substr(third, third));
}

TEST_CASE("an error comes out of the batch that needs the sample, and stays") {
  for (const std::int64_t workers : {0, 1, 8}) {
    Setup setup;
    setup.dataset->bad_ordinal = 13;
    Loader loader(setup.dataset, setup.order, setup.text, options(8, 3, workers));
    for (int i = 0; i < 4; ++i) CHECK_NOTHROW(loader.next());  // 0-2 3-5 6-7, 8-10

    CHECK_THROWS_WITH(loader.next(),
                      "set arm, episode 3: file x.mp4 ends early. Fix: copy it again");
    CHECK_THROWS_AS(loader.next(), wam::DataError);
    CHECK(loader.samples_consumed() == 8);
  }
}

TEST_CASE("as many samples are decoded ahead as asked for, whatever the micro-batches") {
  using namespace std::chrono_literals;
  for (const std::int64_t micro : {1, 2, 8}) {
    for (const std::int64_t ahead : {1, 5, 11}) {
      INFO("micro-batch " << micro << ", " << ahead << " ahead");
      Setup setup;
      auto bounded = options(8, micro, 4);
      bounded.prefetch_samples = ahead;
      Loader loader(setup.dataset, setup.order, setup.text, bounded);
      const auto expected = [&](std::int64_t batches) { return batches * micro + ahead; };
      for (std::int64_t batches = 0; batches < 3; ++batches) {
        if (batches > 0) loader.next();
        const auto give_up = std::chrono::steady_clock::now() + 5s;
        while (setup.dataset->loads < expected(batches) &&
               std::chrono::steady_clock::now() < give_up) {
          std::this_thread::sleep_for(1ms);
        }
        std::this_thread::sleep_for(10ms);
        CHECK(setup.dataset->loads == expected(batches));
      }
    }
  }
}

TEST_CASE("a rank without samples reads nothing ahead") {
  Setup setup;
  auto idle = options(1, 1, 2);
  idle.plan.rank = 1;
  idle.plan.world = 2;
  Loader loader(setup.dataset, setup.order, setup.text, idle);
  for (int i = 0; i < 3; ++i) CHECK(loader.next().size() == 0);

  CHECK(loader.samples_consumed() == 3);
  CHECK(setup.dataset->loads == 0);
}

TEST_CASE("a loader closes while it decodes") {
  Setup setup;
  setup.dataset->pause = std::chrono::milliseconds(20);
  {
    Loader loader(setup.dataset, setup.order, setup.text, options(4, 2, 4));
    loader.next();
  }
  CHECK(setup.dataset->loads >= 2);
}

TEST_CASE("a stalled file system is named within the limit, and the loader closes at once") {
  using namespace std::chrono_literals;
  for (const std::int64_t workers : {0, 1, 4}) {
    INFO(workers << " workers");
    Setup setup;
    setup.dataset->hanging_ordinal = 5;
    auto stalling = options(4, 2, workers);
    std::vector<std::string> slow;
    int moved = 0;
    stalling.stall_limit = 400ms;
    stalling.on_slow = [&](const std::string& line) { slow.push_back(line); };
    stalling.moved = [&] { ++moved; };
    std::chrono::steady_clock::time_point begin;
    {
      Loader loader(setup.dataset, setup.order, setup.text, stalling);
      loader.next();
      loader.next();
      begin = std::chrono::steady_clock::now();
      const auto window = setup.order.window(5);
      const std::string what =
          fmt::format("sample 5 (dataset 0, episode {}, frame 0) is being read", window);
      const std::string file = "now from /slow/episode_5.mp4";
      CHECK_THROWS_WITH(loader.next(), Catch::Contains(what) && Catch::Contains(file) &&
                                           Catch::Contains("no sample was finished for 0.4") &&
                                           Catch::Contains("Fix:"));
      CHECK_THROWS_AS(loader.next(), wam::DeviceError);
      REQUIRE(slow.size() == 1);
      CHECK_THAT(slow[0], Catch::Contains(what) && Catch::Contains(file));
    }
    const auto took = std::chrono::steady_clock::now() - begin;
    CHECK(took >= 390ms);
    CHECK(took < 5s);
    CHECK(moved >= 1);
    setup.dataset->release();
  }
}

TEST_CASE("a loader that closes waits for a thread that is held back, and not for ever") {
  using namespace std::chrono_literals;
  Setup setup;
  setup.dataset->hanging_ordinal = 3;
  auto stalling = options(2, 2, 2);
  stalling.stall_limit = 300ms;
  const auto begin = std::chrono::steady_clock::now();
  {
    Loader loader(setup.dataset, setup.order, setup.text, stalling);
    loader.next();
    while (!setup.dataset->hangs) std::this_thread::sleep_for(1ms);
  }
  CHECK(std::chrono::steady_clock::now() - begin < 5s);
  setup.dataset->release();
}

TEST_CASE("slow reading is no stall while samples are finished") {
  using namespace std::chrono_literals;
  Setup setup;
  setup.dataset->pause = 60ms;
  auto slow = options(8, 8, 1);  // a batch takes 0.5 s
  slow.stall_limit = 250ms;
  CHECK(setup.run(slow, 1).ordinals.size() == 8);
}

TEST_CASE("time spent waiting for samples is counted") {
  Setup setup;
  Loader loader(setup.dataset, setup.order, setup.text, options(8, 8, 0));
  for (int i = 0; i < 3; ++i) loader.next();

  // The sleeps of 24 samples add up to more than 10 ms.
  CHECK(loader.wait_s() > 0.01);
}
