#include "test/support/temp_folder.h"

#include <string>

#include <unistd.h>

#include "core/base/errors.h"

namespace wam::test {

TempFolder::TempFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "wamtest-XXXXXX").string();
  invariant(::mkdtemp(pattern.data()) != nullptr, "no temporary folder");
  path_ = pattern;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace wam::test
