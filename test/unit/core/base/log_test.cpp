#include "core/base/log.h"

#include <fstream>
#include <iterator>
#include <string>

#include "core/base/errors.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"

namespace wam {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_CASE("A log file gets every line at once, and is appended to") {
  const test::TempFolder temp;
  const auto path = temp.path() / "log.txt";
  {
    Log log({.console = false, .file = path.string()});
    CHECK_FALSE(log.is_terminal());
    log.info("one");
    CHECK(text_of(path) == "one\n");
    log.warn("two");
    log.progress("three");
  }
  Log log({.console = false, .file = path.string()});
  log.info("four");
  CHECK(text_of(path) == "one\nwarning: two\nthree\nfour\n");
}

TEST_CASE("A log file that cannot be opened is the user's to mend") {
  CHECK_THROWS_AS(Log({.console = false, .file = "/no/such/folder/log"}), ConfigError);
  CHECK_THROWS_WITH(Log({.console = false, .file = "/no/such/folder/log"}),
                    Catch::Contains("/no/such/folder/log: No such file or directory. Fix: "));
}

}  // namespace
}  // namespace wam
