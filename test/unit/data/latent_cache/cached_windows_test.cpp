#include "data/latent_cache/cached_windows.h"

#include <memory>
#include <string>
#include <vector>

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include "core/base/data_errors.h"
#include "data/loader/collate.h"
#include "test/support/catch.h"
#include "test/unit/data/dataset/arm_set.h"

using namespace wam;

namespace {

const LatentForm kForm{.channels = 1, .rows = 1, .columns = 2, .tokens = 1, .width = 2};

// The arm set with caches whose values are the number of the item.
struct Fixture {
  explicit Fixture(std::int64_t augmentations) {
    test::write_arm_set(folder.path() / "set");
    auto member = test::arm_member(folder.path() / "set");
    member.held_back_episodes = 1;
    auto options = test::arm_options(member);
    options.augmentations = augmentations;
    splits = open_window_datasets(options);
    caches.push_back(write_cache());
  }

  std::shared_ptr<const CachedClips> write_cache() {
    ClipTable clips = splits.training->clips(0);
    std::vector<std::int64_t> frames;
    for (std::int64_t i = 0; i < clips.size(); ++i) frames.push_back(clips.at(i).frames);
    const LatentCacheOptions options{
        folder.path() / "cache", "{}", {kForm, frames, splits.training->augmentations()}};
    LatentCacheBuild build(options, log);
    build.begin(false);
    for (const auto shard : build.missing()) {
      const auto& place = options.layout.shards()[shard];
      LatentItems items(kForm, place);
      for (std::int64_t i = 0; i < place.items; ++i) {
        const auto item = static_cast<double>(place.first + i);
        items.put(i,
                  {at::full({1, 1, 9, 1, 2}, item, at::kBFloat16),
                   {},
                   at::full({1, 1, 2}, item, at::kBFloat16)},
                  0);
      }
      build.write(shard, items);
    }
    return std::make_shared<const CachedClips>(CachedClips{std::move(clips), LatentCache(options)});
  }

  test::TempFolder folder;
  Log log{{.console = false, .file = ""}};
  DatasetSplits splits;
  std::vector<std::shared_ptr<const CachedClips>> caches;
};

class NoText : public TextEmbeddings {
 public:
  [[nodiscard]] at::Tensor rows(const std::string& /*prompt*/) const override {
    return at::zeros({1, 2}, at::kBFloat16);
  }
  [[nodiscard]] std::int64_t width() const override { return 2; }
};

}  // namespace

TEST_CASE(
    "cached windows: samples are those of the windows, with latents in the place of pictures") {
  for (const std::int64_t augmentations : {1, 3}) {
    const Fixture f(augmentations);
    for (const auto& split : {f.splits.training, f.splits.held_back}) {
      const CachedWindows cached(split, f.caches);
      REQUIRE(cached.size() == split->size());
      CHECK(cached.fingerprint() == split->fingerprint());
      for (std::uint64_t window = 0; window < split->size(); window += 5) {
        for (const auto transforms : {Transforms::kTraining, Transforms::kEvaluation}) {
          const Sample live = split->load(window, 7 * window, transforms);
          const Sample sample = cached.load(window, 7 * window, transforms);
          CHECK(sample.id == live.id);
          CHECK(sample.ordinal == live.ordinal);
          CHECK(sample.prompt == live.prompt);
          CHECK(at::equal(sample.state_NS, live.state_NS));
          CHECK(at::equal(sample.action_PA, live.action_PA));
          CHECK(at::equal(sample.action_mask_PA, live.action_mask_PA));
          CHECK(sample.clip.view_THWC.empty());
          REQUIRE(sample.encoded.has_value());
          const auto draws = split->draw(window, 7 * window, transforms);
          const auto clip = f.caches[0]->clips.find(draws.episode_idx, draws.start);
          CHECK(sample.encoded->image_BMD[0][0].item<float>() ==
                static_cast<float>(clip * augmentations + draws.augmentation));
        }
      }
    }
  }
}

TEST_CASE("collate: encoded samples are stacked as they are, without pictures") {
  const Fixture f(1);
  const CachedWindows cached(f.splits.training, f.caches);
  const std::vector<Sample> samples{cached.load(0, 0, Transforms::kTraining),
                                    cached.load(9, 1, Transforms::kTraining)};

  const Batch batch = collate(samples, NoText());

  REQUIRE(batch.encoded.has_value());
  CHECK_FALSE(batch.image_BTHWC.defined());
  CHECK_FALSE(batch.raw.has_value());
  CHECK_FALSE(batch.encoded->still_BCFYX.defined());
  REQUIRE(batch.encoded->latent_BCFYX.sizes() == at::IntArrayRef({2, 1, 9, 1, 2}));
  for (std::int64_t i = 0; i < 2; ++i) {
    const EncodedPictures& one = *samples[static_cast<std::size_t>(i)].encoded;
    CHECK(at::equal(batch.encoded->latent_BCFYX[i], one.latent_BCFYX));
    CHECK(at::equal(batch.encoded->image_BMD[i], one.image_BMD));
  }
}
