#include <iostream>

#include "data/check/check.h"
#include "data/check/text.h"
#include "data/check/verdict.h"
#include "test/dataset/lerobot/expected_set.h"
#include "test/support/catch.h"

using wam::Effect;
using wam::Fault;
using wam::FaultKind;

namespace {

// The shipped record of a set's embodiment, where there is one.
std::optional<wam::Embodiment> record_of(const wam::LeRobotMeta& meta) {
  const auto folder = std::filesystem::path(WAM_SOURCE_DIR) / "configs/embodiment";
  for (const auto& name : wam::embodiment_names(folder)) {
    auto record = wam::find_embodiment(name, folder);
    if (record.tag == meta.embodiment_tag) return record;
  }
  std::cout << "SKIPPED: no record for " << meta.name() << " (" << meta.embodiment_tag << ")\n";
  return std::nullopt;
}

}  // namespace

TEST_CASE("check: sets that LeRobot wrote and reads have no fault of reading, and train") {
  for (const auto& root : wam::test::set_folders()) {
    const auto record = record_of(wam::LeRobotReader(root).meta());
    if (!record) continue;
    INFO(root.string());
    wam::CheckOptions options;
    options.root = root;
    options.embodiment = *record;
    options.threads = 2;
    const auto report = wam::check_dataset(options);
    INFO(wam::check_text(report));
    for (const Fault& fault : report.faults) {
      CHECK(fault.effect == Effect::kNone);
      const bool is_of_values = fault.kind >= FaultKind::kNotFinite;
      CHECK(is_of_values);
    }
    CHECK(wam::judge({report}, false).verdict == wam::Verdict::kRunsThrough);
    CHECK(report.sheet.cost.samples > 0);
  }
}
