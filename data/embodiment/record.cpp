#include "data/embodiment/record.h"

#include <algorithm>

namespace wam {

void Record::only(const std::vector<std::string>& known, std::string_view wrong) const {
  for (const auto& entry : node_) {
    const auto key = entry.first.as<std::string>("");
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const auto nearest = nearest_name(key, known);
    problem(entry.first, key,
            nearest ? fmt::format("{}. Fix: did you mean '{}'?", wrong, *nearest)
                    : fmt::format("{}. Fix: one of {}", wrong, join(known)));
  }
}

bool Record::has(const std::string& key) const {
  return node_.IsMap() && node_[key].IsDefined() && !node_[key].IsNull();
}

void Record::problem(const YAML::Node& where,
                     const std::string& key,
                     const std::string& text) const {
  const int line = where.IsDefined() ? where.Mark().line + 1 : 1;
  problems_.push_back(fmt::format("{}:{}: {}{}: {}", file_, line > 0 ? line : 1, path_, key, text));
}

std::string Record::shown(const YAML::Node& value) {
  if (value.IsScalar()) return value.Scalar();
  if (value.IsSequence()) return "a list";
  return value.IsMap() ? "a mapping" : "nothing";
}

}  // namespace wam
