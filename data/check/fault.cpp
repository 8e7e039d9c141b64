#include "data/check/fault.h"

#include <algorithm>
#include <tuple>

namespace wam {
namespace {

void erase_all(std::string& text, const std::string& part) {
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at)) {
    text.erase(at, part.size());
  }
}

}  // namespace

ErrorText error_text(const std::string& what, const std::string& root, const std::string& file) {
  ErrorText out{what, {}};
  const std::string place = "LeRobot dataset " + root + ", episode ";
  if (what.starts_with(place)) {
    const auto end = what.find(": ", place.size());
    if (end != std::string::npos) out.message = what.substr(end + 2);
  }
  const std::string mark = "Fix: ";
  const auto fix = out.message.rfind(mark);
  if (fix != std::string::npos) {
    out.fix = out.message.substr(fix + mark.size());
    out.message.resize(fix);
  }
  while (!out.message.empty() &&
         std::string(" .\n").find(out.message.back()) != std::string::npos) {
    out.message.pop_back();
  }
  while (out.fix.ends_with(".")) out.fix.pop_back();
  erase_all(out.message, root.ends_with("/") ? root : root + "/");
  if (!file.empty()) erase_all(out.message, " " + file);
  return out;
}

std::string fix_sentence(const std::string& fix) {
  const auto line = fix.rfind('\n');
  const bool entry = line != std::string::npos && fix[line + 1] == ' ';
  return "Fix: " + fix + (entry ? "" : ".");
}

void sort_faults(std::vector<Fault>& faults) {
  std::stable_sort(faults.begin(), faults.end(), [](const Fault& a, const Fault& b) {
    return std::tie(a.kind, a.episode, a.file, a.frame) <
           std::tie(b.kind, b.episode, b.file, b.frame);
  });
}

}  // namespace wam
