#include "data/lerobot/json_file.h"

#include <fstream>

#include "core/base/now_reading.h"
#include "core/io/atomic_file.h"

namespace wam {
namespace {

Json parse(const std::string& text, const std::string& where) {
  Json parsed = Json::parse(text, nullptr, false);
  require<DataError>(!parsed.is_discarded() && parsed.is_object(),
                     "{}: not a JSON object (starts with '{}'). Fix: restore the file from the "
                     "dataset's source.",
                     where, text.substr(0, 40));
  return parsed;
}

}  // namespace

Json read_json_object(const std::filesystem::path& path) {
  const Reading reading(path);
  return parse(read_file(path), path.string());
}

void for_each_json_line(const std::filesystem::path& path,
                        const std::function<void(const Json&, const std::string&)>& visit) {
  const Reading reading(path);
  std::ifstream file(path);
  require<DataError>(file.is_open(),
                     "{}: cannot be opened. Fix: restore the file from the dataset's "
                     "source.",
                     path.string());
  std::string line;
  for (std::int64_t number = 1; std::getline(file, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string where = fmt::format("{} line {}", path.string(), number);
    visit(parse(line, where), where);
  }
}

}  // namespace wam
