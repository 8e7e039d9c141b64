#include "core/weights/weights_writer.h"

#include <nlohmann/json.hpp>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "core/io/disk.h"
#include "core/weights/weights_source.h"
#include "test/support/temp_folder.h"
#include "test/unit/core/weights/weights_support.h"

namespace wam {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;
using test::ramp;

TensorSource source_of(const std::string& name, const at::Tensor& values) {
  return {name, values.sizes().vec(), [values] { return values; }};
}

TEST_CASE("Tensors are sorted by name and packed greedily, with an index") {
  const test::TempFolder temp;
  const std::vector<TensorSource> tensors{
      source_of("d", ramp({10}, 30)), source_of("a", ramp({6}, 0)), source_of("c", ramp({4}, 20)),
      source_of("b", ramp({4}, 10)), source_of("big", ramp({99}, 1))};

  const WrittenWeights written =
      write_weights(temp.path(), tensors, {.type = at::kFloat, .shard_bytes = 40});

  CHECK(written.files == std::vector<std::string>{"model-00001-of-00004.safetensors",
                                                  "model-00002-of-00004.safetensors",
                                                  "model-00003-of-00004.safetensors",
                                                  "model-00004-of-00004.safetensors"});
  CHECK(written.bytes == 4 * 123);
  const auto index = nlohmann::json::parse(read_file(temp.path() / "model.safetensors.index.json"));
  CHECK(index["metadata"]["total_size"] == 4 * 123);
  CHECK(index["weight_map"]["a"] == "model-00001-of-00004.safetensors");
  CHECK(index["weight_map"]["b"] == "model-00001-of-00004.safetensors");
  CHECK(index["weight_map"]["big"] == "model-00002-of-00004.safetensors");
  CHECK(index["weight_map"]["c"] == "model-00003-of-00004.safetensors");
  CHECK(index["weight_map"]["d"] == "model-00004-of-00004.safetensors");
  const WeightsSource back(temp.path());
  for (const TensorSource& t : tensors) CHECK(map_tensor(back.at(t.name)).equal(t.make()));
  const SafetensorsFile first(temp.path() / "model-00001-of-00004.safetensors");
  CHECK(first.metadata().at("format") == "pt");
}

TEST_CASE("What fits in one file is one file, rounded once to nearest even") {
  const test::TempFolder temp;
  const at::Tensor values = ramp({1000}, 1, at::kDouble);
  const auto written = write_weights(temp.path(), {source_of("w", values)}, {});
  CHECK(written.files == std::vector<std::string>{"model.safetensors"});
  CHECK_FALSE(fs::exists(temp.path() / "model.safetensors.index.json"));
  const WeightsSource back(temp.path());
  CHECK(back.at("w").dtype == "BF16");
  CHECK(map_tensor(back.at("w")).equal(values.to(at::kBFloat16)));
}

TEST_CASE("A large or strided tensor is written whole") {
  const test::TempFolder temp;
  const at::Tensor large = ramp({4100, 4100}, 0, at::kHalf).t();  // more than one piece
  write_weights(temp.path(), {source_of("w", large)}, {.type = at::kHalf});
  CHECK(map_tensor(WeightsSource(temp.path()).at("w")).equal(large));
}

TEST_CASE("Each tensor is made once, in the order of the file, and one at a time") {
  const test::TempFolder temp;
  std::string order;
  const auto counted = [&](const std::string& name) {
    return TensorSource{name, {1}, [&order, name] {
                          order += name;
                          return ramp({1}, 0);
                        }};
  };
  write_weights(temp.path(), {counted("c"), counted("a"), counted("b")}, {});
  CHECK(order == "abc");
}

TEST_CASE("A name twice or a shape other than announced is a bug of ours") {
  const test::TempFolder temp;
  CHECK_THROWS_WITH(
      write_weights(temp.path(), {source_of("w", ramp({1}, 0)), source_of("w", ramp({2}, 0))}, {}),
      Contains("w comes twice"));
  CHECK_THROWS_WITH(write_weights(temp.path(), {{"w", {3}, [] { return ramp({2}, 0); }}}, {}),
                    Contains("writing w: its source gave another shape"));
}

TEST_CASE("A folder appears whole or not at all") {
  const test::TempFolder temp;
  const fs::path out = temp.path() / "export";
  CHECK_THROWS_WITH(write_folder_atomically(out,
                                            [&](const fs::path& folder) {
                                              write_file_atomically(folder / "a", "1");
                                              throw DeviceError("disk full");
                                            }),
                    "disk full");
  CHECK(fs::is_empty(temp.path()));

  make_folders(out);  // an empty one is fine
  write_folder_atomically(out, [&](const fs::path& folder) {
    write_file_atomically(folder / "a", "1");
    CHECK(fs::is_empty(out));
  });
  CHECK(read_file(out / "a") == "1");
  CHECK_THROWS_AS(write_folder_atomically(out, [](const fs::path&) {}), DataError);
  CHECK_THROWS_WITH(write_folder_atomically(out, [](const fs::path&) {}),
                    Contains("it is there already. Fix: "));
  CHECK(read_file(out / "a") == "1");
  write_folder_atomically(temp.path() / "slash/", [](const fs::path&) {});
  CHECK(fs::is_directory(temp.path() / "slash"));
}

}  // namespace
}  // namespace wam
