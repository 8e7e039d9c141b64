#include "data/embodiment/prompt.h"

#include <string>
#include <utility>

#include "core/base/errors.h"
#include "test/support/catch.h"

using wam::instruction_of;

TEST_CASE("an annotation that is a Python literal stands for its value, in lower case") {
  const std::pair<const char*, const char*> cases[] = {
      {"...", "ellipsis"},
      {"{}", "{}"},
      {"b'x'", "b'x'"},
      {"u'Hi There'", "hi there"},
      {".5", "0.5"},
      {"['Pick Up', 'b']", "pick up"},
      {"'Quoted', 'b'", "quoted"},
      {"('Only',)", "only"},
      {"1_000", "1000"},
      {"1e3", "1000.0"},
      {"1.5e-7", "1.5e-07"},
      {"1e22", "1e+22"},
      {"0x10", "16"},
      {"None", "none"},
      {"True", "true"},
      {"-3", "-3"},
      {"+4", "4"},
      {"{'a': 1}", "{'a': 1}"},
      {"{'A'}", "{'a'}"},
      {"'a' 'B'", "ab"},
      {"'x' # y", "x"},
      {"(1)", "1"},
      {"[['A','b'],'c']", "['a', 'b']"},
      {" ['Lead space']", "lead space"},
      {"\"It's\"", "it's"},
      {"'''Three'''", "three"},
      {R"('a\tB\x41\u00c9')", "a\tba\xC3\xA9"},
  };
  for (const auto& [text, expected] : cases) {
    INFO(text);
    CHECK(instruction_of(text) == expected);
  }
}

TEST_CASE("an annotation that only looks like a literal stands for itself") {
  for (const char* text : {"12 cups", "['unterminated", "007", "3-4", "--3", "f'x'", "1_", "none",
                           "'a' b'c'", "not provided", "'it's'", "[1", "nonesuch", "\"open"}) {
    INFO(text);
    CHECK(instruction_of(text) == text);
  }
}

TEST_CASE("lower case follows Unicode") {
  CHECK(instruction_of("ÉTAPE İstanbul ẞ") == "étape i̇stanbul ß");
  CHECK(instruction_of("ΟΔΟΣ Σ ΣΑ") == "οδος σ σα");
  CHECK(instruction_of("25 °C; ЕСЛИ, 把杯子") == "25 °c; если, 把杯子");
}

TEST_CASE("annotations that cannot be read right are refused in words") {
  for (const char* text : {"[]", "()", "1+2j", "{'a', 'b'}", "'\\N{BULLET}'", "\xFF"}) {
    INFO(text);
    CHECK_THROWS_AS(instruction_of(text), wam::DataError);
  }
}

TEST_CASE("the instruction goes wherever the template names it") {
  wam::Embodiment embodiment;
  embodiment.prompt = "A robot {instruction} The robot {instruction}";

  CHECK(wam::fill_prompt(embodiment, "Pick Up") == "A robot pick up The robot pick up");
}
