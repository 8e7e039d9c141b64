#include "core/weights/weights_source.h"

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "core/io/disk.h"
#include "test/support/temp_folder.h"
#include "test/unit/core/weights/weights_support.h"

namespace wam {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;
using test::ramp;
using test::write_tensors;

constexpr const char* kIndex = "model.safetensors.index.json";

// p.a and p.b in two files with an index, q.c beside them.
void write_sharded(const fs::path& folder) {
  write_tensors(folder / "model-00001-of-00002.safetensors", {{"p.a", ramp({2, 3}, 0)}});
  write_tensors(folder / "model-00002-of-00002.safetensors",
                {{"p.b", ramp({4}, 9)}, {"q.c", ramp({1}, 5)}});
  write_file_atomically(folder / kIndex, R"({"metadata": {"total_size": 44}, "weight_map": {
    "p.a": "model-00001-of-00002.safetensors", "p.b": "model-00002-of-00002.safetensors",
    "q.c": "model-00002-of-00002.safetensors"}})");
}

TEST_CASE("Weights are found in a file, a folder with one, and a folder with an index") {
  const test::TempFolder temp;
  const fs::path sharded = temp.path() / "sharded";
  const fs::path wan = temp.path() / "wan";
  const fs::path odd = temp.path() / "odd";
  for (const auto& folder : {sharded, wan, odd}) make_folders(folder);
  write_sharded(sharded);
  write_tensors(wan / "diffusion_pytorch_model.safetensors", {{"p.a", ramp({2, 3}, 0)}});
  write_tensors(odd / "anything.safetensors", {{"p.a", ramp({2, 3}, 0)}});

  const WeightsSource source(sharded);
  CHECK(source.tensors().size() == 3);
  CHECK(source.names_under("p.") == std::vector<std::string>{"a", "b"});
  CHECK(map_tensor(source.at("p.b")).equal(ramp({4}, 9)));
  CHECK(source.find("p.z") == nullptr);
  CHECK(source.summary() == "2 files, 3 tensors, 44 B");
  CHECK_THROWS_WITH(source.at("p.ab"), Contains("no tensor named p.ab (nearest: p.a)"));

  CHECK(WeightsSource(wan).tensors().size() == 1);
  CHECK(WeightsSource(odd).tensors().size() == 1);
  CHECK(WeightsSource(odd / "anything.safetensors").tensors().size() == 1);
}

TEST_CASE("The hash of weights depends on names and content, not on files and prefix") {
  const test::TempFolder temp;
  write_sharded(temp.path());
  const std::string hash = WeightsSource(temp.path()).content_hash_under("p.");
  const fs::path one = temp.path() / "one.safetensors";

  write_tensors(one, {{"x.a", ramp({2, 3}, 0)}, {"x.b", ramp({4}, 9)}});
  CHECK(WeightsSource(one).content_hash_under("x.") == hash);
  write_tensors(one, {{"x.a", ramp({2, 3}, 0)}, {"x.b", ramp({4}, 9).add(1e-6)}});
  CHECK(WeightsSource(one).content_hash_under("x.") != hash);
  write_tensors(one, {{"x.a", ramp({3, 2}, 0)}, {"x.b", ramp({4}, 9)}});
  CHECK(WeightsSource(one).content_hash_under("x.") != hash);
  write_tensors(one, {{"x.a", ramp({2, 3}, 0)}, {"x.c", ramp({4}, 9)}});
  CHECK(WeightsSource(one).content_hash_under("x.") != hash);
}

TEST_CASE("What is missing or damaged is named") {
  const test::TempFolder temp;
  const fs::path& folder = temp.path();
  CHECK_THROWS_AS(WeightsSource(folder / "none"), DataError);
  CHECK_THROWS_WITH(WeightsSource(folder / "none"),
                    Contains("none: there is no such file or folder. Fix: "));
  CHECK_THROWS_WITH(WeightsSource(folder),
                    Contains("found 0 .safetensors files and neither model"));
  write_file_atomically(folder / "vae.pth", "zip");
  CHECK_THROWS_WITH(WeightsSource(folder / "vae.pth"),
                    Contains("vae.pth: expected a .safetensors file or a folder"));

  write_sharded(folder);
  fs::resize_file(folder / "model-00002-of-00002.safetensors", 200);
  CHECK_THROWS_WITH(WeightsSource(folder),
                    Contains("model-00002-of-00002.safetensors") && Contains("cut short"));
  fs::remove(folder / "model-00002-of-00002.safetensors");
  CHECK_THROWS_WITH(WeightsSource(folder),
                    Contains("1 of its 2 files are missing: model-00002-of-00002.safetensors"));
  write_tensors(folder / "model-00002-of-00002.safetensors", {{"p.b", ramp({4}, 9)}});
  CHECK_THROWS_WITH(WeightsSource(folder), Contains("no tensor named q.c"));
  write_file_atomically(folder / kIndex, "{\"weight_map\": 3}");
  CHECK_THROWS_WITH(WeightsSource(folder), Contains("not a JSON object with a weight_map"));
}

}  // namespace
}  // namespace wam
