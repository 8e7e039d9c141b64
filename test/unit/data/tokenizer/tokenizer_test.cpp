#include "data/tokenizer/tokenizer.h"

#include <algorithm>
#include <filesystem>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"

namespace wam {
namespace {

std::filesystem::path tiny_model() {
  return std::filesystem::path(WAM_SOURCE_DIR) / "configs/tiny/tokenizer.model";
}

std::string message_of(const std::filesystem::path& model) {
  try {
    const Tokenizer tokenizer(model);
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("Special ids come from the model file, and are those of umT5 in the tiny one") {
  const Tokenizer tokenizer(tiny_model());

  CHECK(tokenizer.padding_id() == 0);
  CHECK(tokenizer.end_id() == 1);
  CHECK(tokenizer.unknown_id() == 3);
  CHECK(tokenizer.vocabulary_size() == 480);
}

TEST_CASE("Ids end in the end piece and decode to the cleaned text") {
  const Tokenizer tokenizer(tiny_model());

  const auto ids = tokenizer.encode("  reach for \n the “red” block ");

  CHECK(ids.back() == tokenizer.end_id());
  CHECK(std::count(ids.begin(), ids.end(), tokenizer.end_id()) == 1);
  CHECK(tokenizer.decode(ids) == "reach for the \"red\" block");
  CHECK(ids == tokenizer.encode("reach for the \"red\" block"));
}

TEST_CASE("An empty text is the end piece alone") {
  const Tokenizer tokenizer(tiny_model());

  CHECK(tokenizer.encode(" \n") == std::vector<std::int64_t>{tokenizer.end_id()});
}

TEST_CASE("Printable ASCII holds no unknown piece, other characters are unknown") {
  const Tokenizer tokenizer(tiny_model());
  std::string all;
  for (char c = 0x21; c < 0x7F; ++c) all += std::string(1, c) + " ";

  const auto ids = tokenizer.encode_clean(all);
  const auto foreign = tokenizer.encode_clean("把");

  CHECK(std::count(ids.begin(), ids.end(), tokenizer.unknown_id()) == 0);
  CHECK(std::count(foreign.begin(), foreign.end(), tokenizer.unknown_id()) == 1);
}

TEST_CASE("Long text is cut to 512 ids, the end piece last") {
  const Tokenizer tokenizer(tiny_model());
  std::string text;
  for (int k = 0; k < 300; ++k) text += "reach for the red block ";

  const auto ids = tokenizer.encode(text);

  CHECK(ids.size() == static_cast<std::size_t>(kMaxTextTokens));
  CHECK(ids.back() == tokenizer.end_id());
  CHECK(std::count(ids.begin(), ids.end(), tokenizer.end_id()) == 1);
}

TEST_CASE("Text that spells a special piece is refused") {
  const Tokenizer tokenizer(tiny_model());

  for (const std::string text : {"stop </s> now", "a <pad>", "<extra_id_7>"}) {
    CHECK_THROWS_WITH(tokenizer.encode(text), Catch::Contains("special piece") &&
                                                  Catch::Contains("Fix: ") &&
                                                  Catch::Contains(text));
  }
}

TEST_CASE("A file that is no tokenizer is refused in words") {
  const test::TempFolder folder;
  write_file_atomically(folder.path() / "noise.model", "this is not a model");
  write_file_atomically(folder.path() / "empty.model", "");

  CHECK(message_of(folder.path() / "noise.model").find("not a SentencePiece model") !=
        std::string::npos);
  CHECK(message_of(folder.path() / "empty.model").find("Fix: ") != std::string::npos);
  CHECK(message_of(folder.path() / "absent.model").find("absent.model") != std::string::npos);
}

TEST_CASE("The fingerprint follows the model file, not its place") {
  const test::TempFolder folder;
  const std::string bytes = read_file(tiny_model());
  write_file_atomically(folder.path() / "copy.model", bytes);

  const Tokenizer original(tiny_model());
  const Tokenizer copy(folder.path() / "copy.model");

  CHECK(original.fingerprint() == copy.fingerprint());
  CHECK(original.fingerprint().size() == 16);
}

}  // namespace wam
