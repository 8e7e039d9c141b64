#include <vector>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "core/io/disk.h"
#include "core/io/hash.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"

namespace wam {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

TEST_CASE("A file is replaced as a whole, and nothing is left beside it") {
  const test::TempFolder temp;
  const fs::path path = temp.path() / "a.json";
  write_file_atomically(path, "first");
  write_file_atomically(path, std::string("sec\0nd", 6));
  CHECK(read_file(path) == std::string("sec\0nd", 6));
  CHECK(std::distance(fs::directory_iterator(temp.path()), fs::directory_iterator()) == 1);
}

TEST_CASE("Files that cannot be read or written are named, with the reason") {
  const test::TempFolder temp;
  CHECK_THROWS_AS(read_file(temp.path() / "none"), DataError);
  CHECK_THROWS_WITH(read_file(temp.path() / "none"),
                    Contains("none: the file cannot be opened (No such file"));
  CHECK_THROWS_AS(OutputFile(temp.path() / "no" / "file"), DeviceError);
  CHECK_THROWS_WITH(write_file_atomically(temp.path() / "no" / "file", "x"),
                    Contains("creating ") && Contains("No such file or directory"));
}

TEST_CASE("Folders are made, renamed and removed, what fails is named") {
  const test::TempFolder temp;
  make_folders(temp.path() / "a" / "b");
  write_file_atomically(temp.path() / "a" / "b" / "c", "x");
  rename_and_sync(temp.path() / "a", temp.path() / "z");
  CHECK(read_file(temp.path() / "z" / "b" / "c") == "x");
  remove_tree(temp.path() / "z");
  CHECK(fs::is_empty(temp.path()));
  remove_tree(temp.path() / "z");  // not there: nothing to do
  CHECK_THROWS_WITH(rename_and_sync(temp.path() / "y", temp.path() / "x"),
                    Contains("renaming ") && Contains("y to x: No such file"));
  write_file_atomically(temp.path() / "file", "x");
  CHECK_THROWS_AS(make_folders(temp.path() / "file" / "b"), DeviceError);
}

TEST_CASE("Hashes are XXH3, whole or in pieces") {
  // Of xxHash's own test vectors: the empty input with seed 0.
  CHECK(hash_hex(content_hash(nullptr, 0)) == "2d06800538d394c2");
  const test::TempFolder temp;
  std::string text(5'000'000, 'x');
  text[4'999'999] = 'y';
  write_file_atomically(temp.path() / "f", text);
  StreamHash pieces;
  pieces.update(text.data(), 1);
  pieces.update(text.data() + 1, text.size() - 1);
  CHECK(pieces.digest() == content_hash(text.data(), text.size()));
  CHECK(file_hash((temp.path() / "f").string()) == pieces.digest());
  CHECK(hash_hex(1) == "0000000000000001");
  CHECK_THROWS_WITH(file_hash((temp.path() / "g").string()), Contains("hashing "));
}

}  // namespace
}  // namespace wam
