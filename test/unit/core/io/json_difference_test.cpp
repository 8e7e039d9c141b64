#include "core/io/json_difference.h"

#include "core/base/errors.h"
#include "core/io/shared_folder.h"
#include "test/support/catch.h"

using wam::json_differences;
using Lines = std::vector<std::string>;

TEST_CASE("json differences: a line for each value, with both sides' words") {
  const wam::TwoSides sides{"cache", "recipe"};
  CHECK(json_differences("x", R"({"a":1,"b":[1,2]})", R"({"b":[1,2],"a":1})", sides).empty());
  CHECK(json_differences("x", R"({"a":{"b":1},"c":"s"})", R"({"a":{"b":2},"d":[true]})", sides) ==
        Lines{"x.a.b: cache 1, recipe 2", "x.c: cache \"s\", recipe has no such value",
              "x.d.0: cache has no such value, recipe true"});
  CHECK_THROWS_AS(json_differences("x", "{}", "text", sides), wam::InvariantError);
}

TEST_CASE("private names: beside the file, for this process, with an ending of their own") {
  const auto name = wam::private_name("/data/a.safetensors").string();
  CHECK(name.starts_with("/data/a.safetensors."));
  CHECK(name.ends_with(".tmp"));
  CHECK(name == wam::private_name("/data/a.safetensors").string());
}
