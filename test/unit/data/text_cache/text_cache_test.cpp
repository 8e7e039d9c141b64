#include "data/text_cache/text_cache.h"

#include <cmath>
#include <limits>
#include <thread>

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include "core/base/errors.h"
#include "core/base/format.h"
#include "core/io/atomic_file.h"
#include "test/support/catch.h"
#include "test/support/damage.h"
#include "test/support/temp_folder.h"

namespace wam {
namespace {

constexpr std::int64_t kWidth = 6;

// A text encoder that counts its calls: rows that follow from position and id.
struct FakeEncoder {
  std::int64_t calls = 0;

  at::Tensor operator()(const std::vector<std::vector<std::int64_t>>& ids) {
    ++calls;
    const auto batch = static_cast<std::int64_t>(ids.size());
    const at::Tensor out = at::full({batch, 512, kWidth}, 7.0, at::kFloat);
    for (std::int64_t b = 0; b < batch; ++b) {
      const auto& row = ids[static_cast<std::size_t>(b)];
      for (std::int64_t m = 0; m < static_cast<std::int64_t>(row.size()); ++m) {
        const double id = static_cast<double>(row[static_cast<std::size_t>(m)]);
        const at::Tensor values =
            at::arange(kWidth, at::kFloat).mul(0.37).add(std::sin(id + static_cast<double>(m)));
        out.select(0, b).select(0, m).copy_(values);
      }
    }
    return out;
  }
};

struct Fixture {
  test::TempFolder folder;
  Log log{{.console = false, .file = (folder.path() / "log.txt").string()}};
  Tokenizer tokenizer{std::filesystem::path(WAM_SOURCE_DIR) / "configs/tiny/tokenizer.model"};
  FakeEncoder encoder;

  TextCache open(const std::string& weights = "weights a") {
    return {
        {.folder = folder.path() / "cache", .weights = weights, .width = kWidth}, tokenizer, log};
  }
  EncodeText encode() {
    return [this](const auto& ids) { return encoder(ids); };
  }
  std::string logged() { return read_file(folder.path() / "log.txt"); }
};

const std::vector<std::string>& prompts() {
  static const std::vector<std::string> all{"reach for the red block", "reach for the blue block",
                                            "open the “top” drawer"};
  return all;
}

std::vector<std::filesystem::path> files(const std::filesystem::path& folder,
                                         const std::string& extension) {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == extension) out.push_back(entry.path());
  }
  return out;
}

}  // namespace

TEST_CASE("A second run finds every embedding, bit for bit, without the encoder") {
  Fixture f;
  TextCache first = f.open();
  CHECK(first.missing(prompts()) == prompts());
  first.fill(prompts(), f.encode());
  CHECK(f.encoder.calls == 3);

  TextCache second = f.open();

  CHECK(second.missing(prompts()).empty());
  second.fill(prompts(), f.encode());
  CHECK(f.encoder.calls == 3);
  for (const std::string& prompt : prompts()) {
    const auto ids = f.tokenizer.encode(prompt);
    const auto length = static_cast<std::int64_t>(ids.size());
    const at::Tensor expected = f.encoder({ids})[0].narrow(0, 0, length).to(at::kBFloat16);
    CHECK(second.rows(prompt).scalar_type() == at::kBFloat16);
    CHECK(second.rows(prompt).equal(expected));
    CHECK(first.rows(prompt).equal(expected));
  }
}

TEST_CASE("Prompts that clean to the same text share one embedding") {
  Fixture f;
  TextCache cache = f.open();

  cache.fill({"open the “top” drawer", "open  the \"top\" drawer ", "wait"}, f.encode());

  CHECK(f.encoder.calls == 2);
  CHECK(cache.rows("open the “top” drawer").equal(cache.rows("open  the \"top\" drawer ")));
}

TEST_CASE("Only what is new is computed") {
  Fixture f;
  f.open().fill({prompts()[0]}, f.encode());
  TextCache cache = f.open();

  CHECK(cache.missing(prompts()) == std::vector<std::string>{prompts()[1], prompts()[2]});
  cache.fill(prompts(), f.encode());

  CHECK(f.encoder.calls == 3);
}

TEST_CASE("What is to be computed is said with its size, and counted prompt by prompt") {
  Fixture f;
  std::vector<std::int64_t> told;
  TextCache cache({.folder = f.folder.path() / "cache",
                   .weights = "weights a",
                   .width = kWidth,
                   .on_progress =
                       [&](std::int64_t done, std::int64_t total) {
                         told.push_back(done);
                         CHECK(total == 3);
                       }},
                  f.tokenizer, f.log);
  std::size_t tokens = 0;
  for (const std::string& prompt : prompts()) tokens += f.tokenizer.encode(prompt).size();

  cache.fill(prompts(), f.encode());

  CHECK(told == std::vector<std::int64_t>{1, 2, 3});
  CHECK(f.logged().find("computing 3 prompts, " + human_bytes(static_cast<double>(
                                                      2 * kWidth * tokens))) != std::string::npos);
}

TEST_CASE("Other weights or another width do not see the embeddings") {
  Fixture f;
  f.open().fill(prompts(), f.encode());

  CHECK(f.open("weights b").missing(prompts()).size() == 3);
  TextCache wider({.folder = f.folder.path() / "cache", .weights = "weights a", .width = 7},
                  f.tokenizer, f.log);
  CHECK(wider.missing(prompts()).size() == 3);
}

TEST_CASE("A flipped byte is found, logged, and the embeddings are computed again") {
  Fixture f;
  std::vector<at::Tensor> good;
  {
    TextCache cache = f.open();
    cache.fill(prompts(), f.encode());
    for (const std::string& prompt : prompts()) good.push_back(cache.rows(prompt).clone());
    test::flip_byte(files(cache.folder(), ".safetensors").at(0), 20);
  }
  TextCache cache = f.open();

  CHECK(cache.missing(prompts()).size() == 3);
  CHECK(f.logged().find("is damaged") != std::string::npos);
  CHECK(files(cache.folder(), ".corrupt").size() == 1);
  cache.fill(prompts(), f.encode());

  CHECK(f.encoder.calls == 6);
  for (std::size_t k = 0; k < good.size(); ++k) CHECK(cache.rows(prompts()[k]).equal(good[k]));
  CHECK(f.open().missing(prompts()).empty());
}

TEST_CASE("A truncated pack is set aside") {
  Fixture f;
  TextCache cache = f.open();
  cache.fill(prompts(), f.encode());
  const auto pack = files(cache.folder(), ".safetensors").at(0);
  std::filesystem::resize_file(pack, std::filesystem::file_size(pack) - 10);

  CHECK(f.open().missing(prompts()).size() == 3);
  CHECK(files(cache.folder(), ".corrupt").size() == 1);
}

TEST_CASE("Caches that fill one folder at the same time end with the same embeddings") {
  Fixture f;
  TextCache a = f.open();
  TextCache b = f.open();
  FakeEncoder other;

  std::thread thread([&] { b.fill(prompts(), [&](const auto& ids) { return other(ids); }); });
  a.fill(prompts(), f.encode());
  thread.join();

  for (const std::string& prompt : prompts()) CHECK(a.rows(prompt).equal(b.rows(prompt)));
  CHECK(f.open().missing(prompts()).empty());
  CHECK(files(a.folder(), ".tmp").empty());
}

TEST_CASE("A prompt that was not embedded is an error which names it") {
  Fixture f;
  TextCache cache = f.open();
  cache.fill(prompts(), f.encode());

  CHECK_THROWS_WITH(cache.rows("fly"), Catch::Contains("\"fly\"") && Catch::Contains("Fix: "));
}

TEST_CASE("Embeddings that are not finite are refused and not stored") {
  Fixture f;
  TextCache cache = f.open();
  const auto broken = [](const auto&) {
    return at::full({1, 512, kWidth}, std::numeric_limits<double>::quiet_NaN(), at::kFloat);
  };

  CHECK_THROWS_AS(cache.fill(prompts(), broken), DataError);
  CHECK(f.open().missing(prompts()).size() == 3);
}

TEST_CASE("A result of another shape is a mistake of ours") {
  Fixture f;
  TextCache cache = f.open();
  const auto short_one = [](const auto&) { return at::zeros({1, 1, kWidth}, at::kFloat); };

  CHECK_THROWS_AS(cache.fill(prompts(), short_one), InvariantError);
}

}  // namespace wam
