#include "data/tokenizer/clean_text.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "test/support/catch.h"
#include "test/support/golden.h"

namespace wam {
namespace {

struct Case {
  std::string file;
  std::string input;
  std::string output;
};

// The cases of every JSON file of the golden folder that holds text cleaning.
std::vector<Case> golden_cases() {
  std::vector<Case> out;
  for (const auto& entry : std::filesystem::directory_iterator(test::golden_folder())) {
    if (entry.path().extension() != ".json") continue;
    const auto file = nlohmann::json::parse(read_file(entry.path()));
    if (!file.contains("ftfy")) continue;
    for (const auto& c : file.at("cases")) {
      out.push_back({entry.path().filename().string(), c.at("input"), c.at("output")});
    }
  }
  return out;
}

// "…": the refusal of a text; empty when it was cleaned.
std::string refusal(const std::string& input, std::string& output) {
  try {
    output = clean_text(input);
    return {};
  } catch (const DataError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("Text is cleaned as the reference cleans it, or refused in words") {
  const std::vector<Case> cases = golden_cases();
  REQUIRE_FALSE(cases.empty());
  std::size_t refused = 0;
  for (const Case& c : cases) {
    CAPTURE(c.file, c.input);
    std::string output;
    const std::string why = refusal(c.input, output);
    if (why.empty()) {
      CHECK(output == c.output);
    } else {
      ++refused;
      CHECK(why.find(c.input) != std::string::npos);
      CHECK(why.find("Fix: ") != std::string::npos);
    }
  }
  std::printf("%zu texts, %zu of them refused\n", cases.size(), refused);
  if (std::getenv("WAM_GOLDEN_DIR") == nullptr) CHECK(refused == 0);
}

}  // namespace wam
