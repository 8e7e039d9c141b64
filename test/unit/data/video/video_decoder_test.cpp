#include "data/video/video_decoder.h"

#include <filesystem>
#include <numeric>
#include <thread>

#include <ATen/ops/equal.h>

#include <fmt/core.h>

#include "core/base/errors.h"
#include "data/video/video_store.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"
#include "test/unit/data/video/test_video.h"

namespace wam::test {
namespace {

std::shared_ptr<const VideoIndex> index_of(const std::filesystem::path& path) {
  return std::make_shared<const VideoIndex>(read_video_index(path));
}

// Brightness of a decoded frame, as the test video was told to have it.
double grey(const at::Tensor& luma_HW) {
  return luma_HW.to(at::kDouble).mean().item<double>();
}

template <class F>
std::string error_of(F&& action) {
  try {
    action();
  } catch (const DataError& e) {
    return e.what();
  }
  return "no error";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Damages the coded frames in the middle of the file (the data comes first, the index last).
void overwrite_middle(const std::filesystem::path& path) {
  std::FILE* file = std::fopen(path.c_str(), "r+b");
  REQUIRE(file != nullptr);
  const auto bytes = static_cast<long>(std::filesystem::file_size(path));
  std::fseek(file, bytes / 4, SEEK_SET);
  const std::string junk(static_cast<std::size_t>(bytes / 8), '\x55');
  std::fwrite(junk.data(), 1, junk.size(), file);
  std::fclose(file);
}

}  // namespace

TEST_CASE("VideoDecoder gives the frame of each ordinal, whatever was read before") {
  const TempFolder folder;
  for (const int b_frames : {0, 2}) {
    for (const bool index_first : {false, true}) {
      const auto path = folder.path() / fmt::format("b{}_{}.mp4", b_frames, index_first);
      write_test_video(path, {.b_frames = b_frames, .index_first = index_first});
      const auto index = index_of(path);
      INFO(path.filename().string());
      REQUIRE(index->num_frames() == 60);
      CHECK(index->num_keyframes >= 5);
      VideoDecoder decoder(index);
      for (const std::int64_t ordinal :
           {0, 1, 2, 59, 58, 30, 31, 32, 12, 11, 13, 47, 5, 59, 59, 0}) {
        INFO("ordinal " << ordinal);
        CHECK(std::abs(grey(decoder.read_planes(ordinal)[0]) - grey_of(ordinal)) < 1.5);
      }
    }
  }
}

TEST_CASE("VideoDecoder: a list in any order with repeats equals single frames") {
  const TempFolder folder;
  const auto path = folder.path() / "video.mp4";
  write_test_video(path, {.b_frames = 2});
  const auto index = index_of(path);
  const std::vector<std::int64_t> ordinals = {40, 3, 3, 0, 59, 24, 25, 3};

  VideoDecoder decoder(index);
  const at::Tensor rgb_THWC = decoder.read_rgb(ordinals);

  REQUIRE(rgb_THWC.sizes() == at::IntArrayRef({8, 48, 64, 3}));
  for (std::size_t t = 0; t < ordinals.size(); ++t) {
    VideoDecoder fresh(index);
    const std::int64_t one[] = {ordinals[t]};
    CHECK(at::equal(rgb_THWC.select(0, static_cast<std::int64_t>(t)), fresh.read_rgb(one)[0]));
  }
}

TEST_CASE("VideoDecoder: widths that are no multiple of the vector width keep their last column") {
  const TempFolder folder;
  const auto path = folder.path() / "video.mp4";
  write_test_video(path, {.num_frames = 3, .width = 46, .height = 30});
  VideoDecoder decoder(index_of(path));
  const std::int64_t ordinals[] = {0, 1, 2};
  const at::Tensor rgb_THWC = decoder.read_rgb(ordinals).to(at::kDouble);
  REQUIRE(rgb_THWC.sizes() == at::IntArrayRef({3, 30, 46, 3}));
  for (std::int64_t t = 0; t < 3; ++t) {
    const double expected = (grey_of(t) - 16) * 255.0 / 219.0;  // BT.601, limited range
    CHECK(rgb_THWC.select(0, t).sub(expected).abs().max().item<double>() < 4);
  }
}

TEST_CASE("VideoIndex: ordinals, times and the nearest frame of a time") {
  const TempFolder folder;
  const auto path = folder.path() / "video.mp4";
  write_test_video(path, {.num_frames = 30, .keyframe_every = 10, .b_frames = 2});
  const auto index = index_of(path);
  CHECK(index->height == 48);
  CHECK(index->width == 64);
  CHECK(index->average_rate() == Approx(15));
  CHECK(index->seconds(7) - index->seconds(0) == Approx(7.0 / 15));
  CHECK(index->ordinal_at(index->seconds(0)) == 0);
  CHECK(index->ordinal_at(-1.0) == 0);
  CHECK(index->ordinal_at(1e9) == 29);
  CHECK(index->ordinal_at(index->seconds(7) + 0.49 / 15) == 7);
  CHECK(index->ordinal_at(index->seconds(7) + 0.51 / 15) == 8);
  CHECK(index->keyframe_before(0) == index->pts[0]);
}

TEST_CASE("A video that is cut off says so, with or without its index") {
  const TempFolder folder;
  for (const bool index_first : {false, true}) {
    const auto path = folder.path() / fmt::format("cut_{}.mp4", index_first);
    write_test_video(path, {.index_first = index_first});
    const auto bytes = std::filesystem::file_size(path);
    std::filesystem::resize_file(path, bytes * 7 / 10);
    const std::string text = error_of([&] { static_cast<void>(read_video_index(path)); });
    INFO(text);
    CHECK(contains(text, path.string()));
    CHECK(contains(text, index_first ? "cut off: it promises 60 frames and ends in frame"
                                     : "moov atom not found"));
    CHECK(contains(text, "Fix: "));
  }
}

TEST_CASE("Files that are no video are named") {
  const TempFolder folder;
  const auto missing = folder.path() / "missing.mp4";
  CHECK(contains(error_of([&] { static_cast<void>(read_video_index(missing)); }),
                 missing.string() + ": no such file"));
  const auto empty = folder.path() / "empty.mp4";
  std::fclose(std::fopen(empty.c_str(), "w"));
  CHECK(contains(error_of([&] { static_cast<void>(read_video_index(empty)); }), "(0 bytes)"));
  const auto text = folder.path() / "text.mp4";
  std::FILE* file = std::fopen(text.c_str(), "w");
  std::fputs("a note that somebody left under this name\n", file);
  std::fclose(file);
  CHECK(contains(error_of([&] { static_cast<void>(read_video_index(text)); }), text.string()));
}

TEST_CASE("A frame past the end, and a damaged frame, are errors that name frame and file") {
  const TempFolder folder;
  const auto path = folder.path() / "video.mp4";
  write_test_video(path, {});
  const auto index = index_of(path);
  VideoDecoder decoder(index);
  const std::int64_t past[] = {60};
  const std::string text = error_of([&] { static_cast<void>(decoder.read_rgb(past)); });
  CHECK(contains(text, path.string() + " has no frame 60: it holds 60 frames"));

  const std::int64_t first[] = {0};
  const at::Tensor before = decoder.read_rgb(first);
  overwrite_middle(path);
  std::vector<std::int64_t> all(60);
  std::iota(all.begin(), all.end(), std::int64_t{0});
  VideoDecoder damaged(index);
  const std::string broken = error_of([&] { static_cast<void>(damaged.read_rgb(all)); });
  INFO(broken);
  CHECK(contains(broken, "decoding frame "));
  CHECK(contains(broken, path.string()));
  CHECK(at::equal(damaged.read_rgb(first), before));  // an error does not spoil the decoder
}

TEST_CASE("VideoStore keeps a bounded number of decoders and gives every thread the same frames") {
  const TempFolder folder;
  std::vector<std::filesystem::path> paths;
  for (int i = 0; i < 3; ++i) {
    paths.push_back(folder.path() / fmt::format("{}.mp4", i));
    write_test_video(paths.back(), {.num_frames = 40 + i, .b_frames = i});
  }
  const std::vector<std::int64_t> ordinals = {0, 9, 18, 27, 36};
  std::vector<at::Tensor> expected;
  for (const auto& path : paths)
    expected.push_back(VideoDecoder(index_of(path)).read_rgb(ordinals));
  const VideoStore store({.max_decoders = 2, .index_bytes = 32768});

  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (std::size_t w = 0; w < wrong.size(); ++w) {
    threads.emplace_back([&, w] {
      for (std::size_t i = 0; i < 12; ++i) {
        const std::size_t at = (i + w) % paths.size();
        if (!at::equal(store.read_rgb(paths[at], ordinals), expected[at])) ++wrong[w];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  CHECK(std::accumulate(wrong.begin(), wrong.end(), 0) == 0);
  CHECK(store.num_idle_decoders() == 2);
}

TEST_CASE("VideoStore goes on after a file that cannot be opened, and keeps to its bound") {
  const TempFolder folder;
  const auto good = folder.path() / "good.mp4";
  const auto other = folder.path() / "other.mp4";
  const auto gone = folder.path() / "gone.mp4";
  for (const auto& path : {good, other, gone}) write_test_video(path, {.num_frames = 12});
  const std::vector<std::int64_t> ordinals = {3, 7};
  const auto expected = VideoDecoder(index_of(good)).read_rgb(ordinals);
  const VideoStore store({.max_decoders = 1, .index_bytes = 1 << 20});
  CHECK(at::equal(store.read_rgb(gone, ordinals), expected));  // its index is known from here on
  CHECK(at::equal(store.read_rgb(other, ordinals), expected));
  std::filesystem::remove(gone);

  for (int turn = 0; turn < 3; ++turn) {
    CHECK_THROWS_AS(store.read_rgb(gone, ordinals), DataError);
    CHECK(store.num_idle_decoders() == 0);  // the one that should have gone on with it
    CHECK(at::equal(store.read_rgb(good, ordinals), expected));
    CHECK(store.num_idle_decoders() == 1);
  }
}

}  // namespace wam::test
