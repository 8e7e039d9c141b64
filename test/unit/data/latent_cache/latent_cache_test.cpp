#include "data/latent_cache/latent_cache.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>

#include "core/base/data_errors.h"
#include "core/io/atomic_file.h"
#include "test/support/catch.h"
#include "test/support/damage.h"
#include "test/support/temp_folder.h"

namespace fs = std::filesystem;
using Catch::Contains;
using namespace wam;

namespace {

constexpr const char* kContents = R"({"pictures":{"crop_scale":0.95},"vae":"xxh3 a"})";
constexpr const char* kOthers = R"({"pictures":{"crop_scale":0.9},"vae":"xxh3 a"})";

const LatentForm kForm{
    .channels = 2, .rows = 3, .columns = 2, .has_still = true, .tokens = 5, .width = 4};

// A cache of 20 clips, 3 shards, whose values tell the item.
struct Fixture {
  test::TempFolder folder;
  Log log{{.console = false, .file = (folder.path() / "log.txt").string()}};
  LatentLayout layout{kForm, std::vector<std::int64_t>(20, 9), 1};

  [[nodiscard]] LatentCacheOptions options(const std::string& contents = kContents) const {
    return {.folder = folder.path() / "cache", .contents = contents, .layout = layout};
  }
  [[nodiscard]] fs::path file(std::size_t shard) const {
    return folder.path() / "cache" / LatentLayout::file_name(shard);
  }
  [[nodiscard]] std::string logged() const { return read_file(folder.path() / "log.txt"); }

  static EncodedPictures batch_of(std::int64_t item) {
    const auto values = [&](std::vector<std::int64_t> shape, double offset) {
      std::int64_t numel = 1;
      for (const auto extent : shape) numel *= extent;
      shape.insert(shape.begin(), 1);
      return (at::arange(numel, at::kFloat) + offset + 100.0 * static_cast<double>(item))
          .to(at::kBFloat16)
          .reshape(shape);
    };
    return {values({2, 3, 3, 2}, 0), values({2, 3, 3, 2}, 0.5), values({5, 4}, 7)};
  }

  void write_missing(LatentCacheBuild& build) const {
    for (const auto shard : build.missing()) {
      const LatentShardPlace& place = layout.shards()[shard];
      LatentItems items(kForm, place);
      for (std::int64_t i = 0; i < place.items; ++i) {
        if (place.first + i == 11) {
          items.bad[i] = "episode 4 is cut off";
        } else {
          items.put(i, batch_of(place.first + i), 0);
        }
      }
      build.write(shard, items);
    }
  }
  void write_all() {
    LatentCacheBuild build(options(), log);
    build.begin(false);
    write_missing(build);
  }
};

}  // namespace

TEST_CASE("latent cache: every item comes back to the bit, a bad one as what was bad") {
  Fixture f;
  f.write_all();

  const LatentCache cache(f.options());

  for (std::int64_t item = 0; item < 20; ++item) {
    if (item == 11) continue;
    const EncodedPictures found = cache.item(item);
    const EncodedPictures expected = Fixture::batch_of(item);
    CHECK(at::equal(found.latent_BCFYX, expected.latent_BCFYX[0]));
    CHECK(at::equal(found.still_BCFYX, expected.still_BCFYX[0]));
    CHECK(at::equal(found.image_BMD, expected.image_BMD[0]));
  }
  CHECK_THROWS_AS(cache.item(11), ContentError);
  CHECK_THROWS_WITH(cache.item(11), "episode 4 is cut off");
}

TEST_CASE("latent cache: absent and unfinished ones are refused with the command that helps") {
  Fixture f;
  CHECK_THROWS_WITH(LatentCache(f.options()), Contains("there is no latent cache in") &&
                                                  Contains("Fix: wamtrain cache RECIPE"));
  f.write_all();
  fs::remove(f.file(1));
  CHECK_THROWS_AS(LatentCache(f.options()), ConfigError);
  CHECK_THROWS_WITH(LatentCache(f.options()), Contains("1 of its 3 files are missing"));
}

TEST_CASE("latent cache: one of something else is named, refused, and removed on request alone") {
  Fixture f;
  f.write_all();
  std::ofstream(f.folder.path() / "cache/notes.txt") << "mine";

  CHECK_THROWS_AS(LatentCache(f.options(kOthers)), ConfigError);
  CHECK_THROWS_WITH(LatentCache(f.options(kOthers)),
                    Contains("latents.pictures.crop_scale: cache 0.95, recipe 0.9") &&
                        !Contains("vae") && Contains("--rebuild"));
  LatentCacheBuild build(f.options(kOthers), f.log);
  CHECK_THROWS_WITH(build.begin(false), Contains("crop_scale: cache 0.95, recipe 0.9"));
  CHECK_NOTHROW(LatentCache(f.options()));

  build.begin(true);

  CHECK(build.missing().size() == 3);
  CHECK_FALSE(fs::exists(f.file(0)));
  CHECK(fs::exists(f.folder.path() / "cache/notes.txt"));
  CHECK_THROWS_WITH(LatentCache(f.options()), Contains("crop_scale: cache 0.9, recipe 0.95"));
  f.write_missing(build);
  CHECK_NOTHROW(LatentCache(f.options(kOthers)).item(3));
}

TEST_CASE("latent cache: a build goes on with what is whole, and takes no half-written file") {
  Fixture f;
  f.write_all();
  const auto kept = fs::last_write_time(f.file(0));
  fs::remove(f.file(2));
  std::ofstream(f.file(2).string() + ".host.1.a.tmp") << "half";

  LatentCacheBuild build(f.options(), f.log);
  build.begin(false);

  CHECK(build.missing() == std::vector<std::size_t>{2});
  CHECK(build.num_absent() == 1);
  f.write_missing(build);
  CHECK(build.missing().empty());
  CHECK(fs::last_write_time(f.file(0)) == kept);
  CHECK_NOTHROW(LatentCache(f.options()).item(19));
}

TEST_CASE("latent cache: a flipped byte is an error when it is read, and a build mends it") {
  Fixture f;
  f.write_all();
  test::flip_byte(f.file(1),
                  20 * 2 * 8 + 30);  // in the tokens of an item, which stand before the hashes

  const LatentCache cache(f.options());
  int damaged = 0;
  for (std::int64_t item = 0; item < 20; ++item) {
    if (item == 11) continue;
    try {
      static_cast<void>(cache.item(item));
    } catch (const ContentError&) {
      FAIL("a damaged file is not bad content, which might be skipped");
    } catch (const DataError& error) {
      ++damaged;
      CHECK_THAT(error.what(), Contains(f.file(1).string()) && Contains("Fix: wamtrain cache"));
    }
  }
  CHECK(damaged == 1);

  LatentCacheBuild build(f.options(), f.log);
  build.begin(false);
  CHECK(build.missing() == std::vector<std::size_t>{1});
  CHECK_THAT(f.logged(), Contains("is damaged (a hash does not hold)"));
  CHECK(fs::exists(f.file(1).string() + ".corrupt"));
  f.write_missing(build);
  CHECK_NOTHROW(LatentCache(f.options()).item(9));
}

TEST_CASE("latent cache: a file that was cut short, or of another cache, is encoded again") {
  Fixture f;
  f.write_all();
  fs::resize_file(f.file(0), fs::file_size(f.file(0)) / 2);
  Fixture other;
  LatentCacheBuild others(other.options(kOthers), other.log);
  others.begin(false);
  other.write_missing(others);
  fs::copy_file(other.file(2), f.file(2), fs::copy_options::overwrite_existing);

  CHECK_THROWS_AS(LatentCache(f.options()), DataError);
  LatentCacheBuild build(f.options(), f.log);
  build.begin(false);
  CHECK(build.missing() == std::vector<std::size_t>{0, 2});
}
