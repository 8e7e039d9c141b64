#include "core/io/tensor_file.h"

#include <array>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include "core/base/errors.h"

namespace wam {
namespace {

constexpr std::array<std::pair<const char*, at::ScalarType>, 13> kTypes{{
    {"F64", at::kDouble},
    {"F32", at::kFloat},
    {"F16", at::kHalf},
    {"BF16", at::kBFloat16},
    {"I64", at::kLong},
    {"I32", at::kInt},
    {"I16", at::kShort},
    {"I8", at::kChar},
    {"U8", at::kByte},
    {"U16", at::kUInt16},
    {"BOOL", at::kBool},
    {"F8_E4M3", at::kFloat8_e4m3fn},
    {"F8_E5M2", at::kFloat8_e5m2},
}};

}  // namespace

at::ScalarType scalar_type_of(const std::string& dtype) {
  for (const auto& [name, type] : kTypes) {
    if (dtype == name) return type;
  }
  throw DataError(fmt::format("reading a tensor of type {}: this type is not supported.", dtype));
}

std::string dtype_name(at::ScalarType type) {
  for (const auto& [name, candidate] : kTypes) {
    if (candidate == type) return name;
  }
  throw InvariantError("a tensor of a type that safetensors has no name for");
}

at::Tensor map_tensor(const TensorView& view) {
  const auto options = at::TensorOptions().dtype(scalar_type_of(view.dtype));
  if (view.bytes == 0) return at::empty(view.shape, options);
  // from_blob wants a pointer to non-const; map_tensor's contract forbids writing.
  return at::from_blob(const_cast<std::byte*>(view.data), view.shape, options);
}

}  // namespace wam
