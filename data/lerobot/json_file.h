#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include <nlohmann/json.hpp>

#include "core/base/errors.h"

namespace wam {

// JSON files of a dataset, with errors that name file, line and field. For sources only: the JSON
// header is heavy.
using Json = nlohmann::ordered_json;

// The object in `path`. Errors: DataError (missing, not JSON, not an object).
Json read_json_object(const std::filesystem::path& path);

// Calls `visit(object, "PATH line N")` for each line that is not blank. Errors as above.
void for_each_json_line(const std::filesystem::path& path,
                        const std::function<void(const Json&, const std::string&)>& visit);

// Field `name` of `object` as T. Errors: DataError naming `where`, the field and what it holds.
template <class T>
T json_field(const Json& object, const char* name, const char* expected, const std::string& where) {
  const auto found = object.find(name);
  require<DataError>(found != object.end(),
                     "{}: no field '{}', expected {}. Fix: restore the file from the dataset's "
                     "source.",
                     where, name, expected);
  try {
    return found->template get<T>();
  } catch (const nlohmann::json::exception&) {
    throw DataError(
        fmt::format("{}: the field '{}' is {}, expected {}. Fix: restore the file from "
                    "the dataset's source.",
                    where, name, found->dump().substr(0, 80), expected));
  }
}

}  // namespace wam
