#include "core/io/safetensors.h"

#include <cstring>

#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "core/io/hash.h"
#include "core/io/tensor_file.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"

namespace wam {
namespace {

using Catch::Contains;

// A file with this header and `data_bytes` zeros.
std::filesystem::path with_header(const test::TempFolder& temp,
                                  const std::string& header,
                                  std::size_t data_bytes) {
  std::string content(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(content.data(), &length, 8);
  content += header + std::string(data_bytes, '\0');
  write_file_atomically(temp.path() / "x.safetensors", content);
  return temp.path() / "x.safetensors";
}

TEST_CASE("Tensors of every type come back as they were written") {
  const test::TempFolder temp;
  const auto path = temp.path() / "t.safetensors";
  std::vector<at::Tensor> tensors;
  std::vector<TensorHeader> headers;
  for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16, at::kLong,
                                    at::kInt, at::kShort, at::kChar, at::kByte}) {
    tensors.push_back(at::arange(0, 21).to(type).view({3, 7}));
    headers.push_back({"t." + dtype_name(type), dtype_name(type), {3, 7}});
  }
  tensors.push_back(at::zeros({0, 4}));
  headers.push_back({"empty", "F32", {0, 4}});
  tensors.push_back(at::zeros({}).add(7));
  headers.push_back({"scalar", "F32", {}});

  SafetensorsWriter writer(path, headers, {{"format", "pt"}});
  for (const at::Tensor& t : tensors) {
    const auto* bytes = static_cast<const char*>(t.const_data_ptr());
    const std::size_t half = t.nbytes() / 2;
    writer.write_next(bytes, half);
    writer.write_next(bytes + half, t.nbytes() - half);
  }
  CHECK(writer.finish() == file_hash(path.string()));

  const SafetensorsFile file(path);
  CHECK(file.metadata().at("format") == "pt");
  REQUIRE(file.tensors().size() == tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const at::Tensor back = map_tensor(file.at(headers[i].name));
    CHECK(back.scalar_type() == tensors[i].scalar_type());
    CHECK(back.sizes() == tensors[i].sizes());
    CHECK(back.equal(tensors[i]));
  }
  CHECK(reinterpret_cast<std::uintptr_t>(file.at("t.F64").data) % 64 == 0);
  CHECK_THROWS_WITH(file.at("scaler"), Contains("no tensor named scaler (nearest: scalar)"));
}

TEST_CASE("A writer that did not get everything says so") {
  const test::TempFolder temp;
  SafetensorsWriter writer(temp.path() / "t.safetensors", {{"a", "F32", {4}}}, {});
  const float value = 1;
  writer.write_next(&value, sizeof value);
  CHECK_THROWS_AS(writer.finish(), InvariantError);
}

TEST_CASE("Damaged files are refused, each with its reason") {
  const test::TempFolder temp;
  const auto refused = [&](const std::string& header, std::size_t bytes) {
    const auto path = with_header(temp, header, bytes);
    std::string message;
    try {
      const SafetensorsFile file(path);
    } catch (const DataError& e) {
      message = e.what();
    }
    return message;
  };
  CHECK_THAT(refused("[1]", 0), Contains("x.safetensors: its header is not a JSON object"));
  CHECK_THAT(refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 7),
             Contains("a ends at byte 8 of 7. The file was cut short. Fix: "));
  CHECK_THAT(refused(R"({"a":{"dtype":"F33","shape":[2],"data_offsets":[0,8]}})", 8),
             Contains("a has unknown dtype F33"));
  CHECK_THAT(refused(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8),
             Contains("a has 8 bytes for shape [3] of F32"));
  CHECK_THAT(refused(R"({"a":{"dtype":"F32","shape":[-1,-2],"data_offsets":[0,8]}})", 8),
             Contains("a has 8 bytes for shape [-1, -2] of F32"));
  CHECK_THAT(
      refused(R"({"a":{"dtype":"U8","shape":[4294967296,4294967296,8],"data_offsets":[0,0]}})", 8),
      Contains("a has 0 bytes for shape [4294967296, 4294967296, 8]"));
  CHECK_THAT(refused(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},
                         "b":{"dtype":"U8","shape":[4],"data_offsets":[3,7]}})",
                     8),
             Contains("a and b share bytes"));
  CHECK_THAT(refused(R"({"a":{"dtype":"U8","data_offsets":[0,4]}})", 8),
             Contains("malformed header"));
}

TEST_CASE("A file that is none, or was cut short in its header, is refused") {
  const test::TempFolder temp;
  const auto path = temp.path() / "f";
  CHECK_THROWS_WITH(SafetensorsFile(path), Contains("opening ") && Contains("No such file"));
  write_file_atomically(path, "abc");
  CHECK_THROWS_WITH(SafetensorsFile(path), Contains("3 bytes cannot be mapped"));
  write_file_atomically(path, "PK\x03\x04 a zip archive, not a safetensors file");
  CHECK_THROWS_WITH(SafetensorsFile(path),
                    Contains("its header claims") && Contains("It is not a safetensors file, or"));
}

TEST_CASE("Types that LibTorch does not hold are refused by name") {
  CHECK_THROWS_WITH(scalar_type_of("F4"), Contains("type F4: this type is not supported"));
  CHECK(dtype_bytes("BF16") == 2);
  CHECK_THROWS_AS(dtype_bytes("F4"), InvariantError);
}

}  // namespace
}  // namespace wam
