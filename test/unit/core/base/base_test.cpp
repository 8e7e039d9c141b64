#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "core/base/errors.h"
#include "core/base/format.h"
#include "core/base/names.h"
#include "core/base/parallel.h"
#include "core/base/unique_handle.h"
#include "test/support/catch.h"

namespace {
enum class Color { kRed, kDeepBlue };
}  // namespace

template <>
struct wam::EnumNames<Color> {
  static constexpr std::array table{std::pair{Color::kRed, "red"},
                                    std::pair{Color::kDeepBlue, "deep_blue"}};
};

namespace wam {
namespace {

using Catch::Contains;

TEST_CASE("An error tells many problems at once, and a bug of ours its place") {
  CHECK_THROWS_WITH(throw ConfigError::of({"only one"}), "only one");
  CHECK_THROWS_WITH(throw ConfigError::of({"a", "b"}), "2 problems:\na\nb");
  CHECK_THROWS_WITH(invariant(false, "x is y"), Contains("x is y (") && Contains("base_test.cpp:"));
  CHECK_NOTHROW(invariant(true, "x is y"));
  CHECK_THROWS_WITH(require<DataError>(false, "found {}", 3), "found 3");
  CHECK_NOTHROW(require<DataError>(true, "found {}", 3));
}

TEST_CASE("Numbers for people") {
  CHECK(with_commas(0) == "0");
  CHECK(with_commas(999) == "999");
  CHECK(with_commas(1234567) == "1,234,567");
  CHECK(with_commas(-1000) == "-1,000");
  CHECK(human_bytes(0) == "0 B");
  CHECK(human_bytes(999) == "999 B");
  CHECK(human_bytes(1536) == "1.50 KiB");
  CHECK(human_bytes(12.25 * 1024 * 1024) == "12.2 MiB");
  CHECK(human_bytes(4.0 * 1024 * 1024 * 1024) == "4.00 GiB");
  CHECK(human_seconds(4.25) == "4.2 s");
  CHECK(human_seconds(185) == "3 min 05 s");
  CHECK(human_seconds(7620) == "2 h 07 min");
  CHECK(first_line("one\ntwo\n") == "one");
  CHECK(first_line("one") == "one");
}

TEST_CASE("Text is wrapped between words, its own lines stay, and those to copy are not broken") {
  CHECK(wrapped("one two three", 9, 2) == "  one two\n  three\n");
  CHECK(wrapped("", 9, 2) == "  \n");
  CHECK(wrapped("a bc\nd", 80) == "a bc\nd\n");
  CHECK(wrapped("write this:\n    key: {column: x, start: 0}\nthen that", 8, 1) ==
        " write\n this:\n     key: {column: x, start: 0}\n then\n that\n");
}

TEST_CASE("The nearest name is found, and none where all are far") {
  const std::vector<std::string> names{"learning_rate", "weight_decay", "steps"};
  CHECK(nearest_name("learning_rat", names) == "learning_rate");
  CHECK(nearest_name("step", names) == "steps");
  CHECK(nearest_name("wieght_decay", names) == "weight_decay");
  CHECK_FALSE(nearest_name("momentum", names).has_value());
  CHECK_FALSE(nearest_name("x", {}).has_value());
}

TEST_CASE("One table names an enum both ways") {
  CHECK(name_of(Color::kDeepBlue) == "deep_blue");
  CHECK(parse_name<Color>("red") == Color::kRed);
  CHECK_FALSE(parse_name<Color>("Red").has_value());
  CHECK(join(all_names<Color>()) == "red, deep_blue");
  CHECK(join({}, "|").empty());
}

TEST_CASE("Every index is worked on once, whatever the number of threads") {
  for (const unsigned threads : {0U, 1U, 3U, 64U}) {
    std::vector<std::atomic<int>> seen(100);
    for_each_index(seen.size(), threads, [&](std::size_t i) { ++seen[i]; });
    for (const auto& count : seen) CHECK(count == 1);
    for_each_index(0, threads, [](std::size_t) { throw DataError("never"); });
  }
}

TEST_CASE("Pieces cover every value once, the last one shorter") {
  for (const std::int64_t count : {0, 1, 6, 7, 8}) {
    std::vector<std::atomic<int>> seen(8);
    std::atomic<bool> too_long = false;
    for_each_piece(count, 3, 2, [&](std::int64_t begin, std::int64_t length) {
      if (length < 1 || length > 3) too_long = true;
      for (std::int64_t i = begin; i < begin + length; ++i) ++seen[static_cast<std::size_t>(i)];
    });
    CHECK_FALSE(too_long);
    for (std::size_t i = 0; i < seen.size(); ++i) {
      CHECK(seen[i] == (static_cast<std::int64_t>(i) < count ? 1 : 0));
    }
  }
}

TEST_CASE("The first error of parallel work comes out, and nothing new is started") {
  std::atomic<int> started = 0;
  const auto work = [&](std::size_t i) {
    ++started;
    if (i == 5) throw DataError("five");
  };
  CHECK_THROWS_WITH(for_each_index(1'000'000, 2, work), "five");
  CHECK(started < 1'000'000);
  started = 0;
  CHECK_THROWS_WITH(for_each_index(100, 1, work), "five");
  CHECK(started == 6);
}

TEST_CASE("A pool of threads works through one call after the other, also after an error") {
  for (const unsigned threads : {1U, 2U, 5U}) {
    WorkerPool pool(threads);
    for (std::size_t count = 0; count < 200; ++count) {
      std::vector<std::atomic<int>> seen(count);
      pool.for_each_index(count, [&](std::size_t i) { ++seen[i]; });
      CHECK(std::all_of(seen.begin(), seen.end(), [](const auto& times) { return times == 1; }));
    }
    const auto fails = [](std::size_t i) {
      if (i == 5) throw DataError("five");
    };
    CHECK_THROWS_WITH(pool.for_each_index(100, fails), "five");
    std::atomic<int> items = 0;
    pool.for_each_index(100, [&](std::size_t) { ++items; });
    CHECK(items == 100);
  }
}

int released = 0;
void release(int) noexcept {
  ++released;
}

TEST_CASE("A handle is released once, by its last owner") {
  using Handle = UniqueHandle<int, release>;
  released = 0;
  {
    Handle a(3);
    Handle b(std::move(a));
    CHECK(b.get() == 3);
    Handle c(4);
    c = std::move(b);
    CHECK(released == 1);
    CHECK(c.get() == 3);
    CHECK(static_cast<bool>(c));
  }
  CHECK(released == 2);
}

}  // namespace
}  // namespace wam
