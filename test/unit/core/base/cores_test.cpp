#include "core/base/cores.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "test/support/catch.h"
#include "test/support/temp_folder.h"

using wam::Cores;
using wam::CoreShare;

TEST_CASE("cores: the kernel's lists, read and written") {
  CHECK(wam::parse_cores("0-3,8,10-11") == Cores{0, 1, 2, 3, 8, 10, 11});
  CHECK(wam::parse_cores("5") == Cores{5});
  for (const char* wrong : {"", "a", "3-1", "1-", "-1", "1 2", "0-99999999"}) {
    INFO(wrong);
    CHECK_FALSE(wam::parse_cores(wrong).has_value());
  }
  CHECK(wam::cores_text({0, 1, 2, 3, 8, 10, 11}) == "0-3,8,10-11");
  const wam::test::TempFolder folder;
  std::ofstream(folder.path() / "list") << "2-3\n";
  CHECK(wam::read_cores(folder.path() / "list") == Cores{2, 3});
  CHECK_FALSE(wam::read_cores(folder.path() / "none").has_value());
}

TEST_CASE("cores: pinning holds for threads that run already, and for later ones") {
  const Cores before = wam::allowed_cores();
  REQUIRE_FALSE(before.empty());
  const Cores one{before.back()};
  Cores seen;
  std::atomic<bool> pinned = false;
  std::thread older([&] {
    while (!pinned) std::this_thread::yield();
    seen = wam::allowed_cores();
  });

  wam::pin_process(one);
  pinned = true;
  older.join();
  Cores later;
  std::thread([&] { later = wam::allowed_cores(); }).join();
  wam::pin_process(before);

  CHECK(seen == one);
  CHECK(later == one);
  CHECK(wam::allowed_cores() == before);
}

TEST_CASE("cores: the least quota of a control group and those around it, of both versions") {
  const wam::test::TempFolder folder;
  const auto& root = folder.path();
  const auto write = [&](const std::string& file, const char* text) {
    std::filesystem::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text << "\n";
  };
  write("job/step/cpu.max", "800000 100000");
  write("job/cpu.max", "350000 100000");
  write("free/cpu.max", "max 100000");
  write("old/cpu.cfs_quota_us", "150000");
  write("old/cpu.cfs_period_us", "100000");
  write("old/free/cpu.cfs_quota_us", "-1");
  write("old/free/cpu.cfs_period_us", "100000");

  CHECK(wam::cpu_quota_in(root, "/job/step") == 3.5);
  CHECK(wam::cpu_quota_in(root, "/job") == 3.5);
  CHECK_FALSE(wam::cpu_quota_in(root, "/free").has_value());
  CHECK_FALSE(wam::cpu_quota_in(root, "/").has_value());
  CHECK(wam::cpu_quota_in(root, "/old/free") == 1.5);
  write("cpu.max", "50000 100000");  // of the container, whose own path is /
  CHECK(wam::cpu_quota_in(root, "/") == 0.5);
  CHECK(wam::cpu_quota_in(root, "/not/seen/from/here") == 0.5);
}

TEST_CASE("cores: what one rank may count on") {
  struct Case {
    std::size_t allowed, reachable;
    int ranks, cores, fair;
    bool whole;
    std::optional<double> quota = {};
  };
  for (const Case& c : {Case{64, 64, 1, 64, 64, true},        // alone
                        Case{64, 64, 8, 8, 8, true},          // the whole machine, shared
                        Case{1, 64, 2, 1, 32, false},         // bound to a core
                        Case{32, 64, 8, 8, 8, false},         // bound to a socket with three others
                        Case{8, 64, 8, 8, 8, false},          // divided by the launcher
                        Case{2, 64, 1, 2, 64, false},         // taskset
                        Case{2, 2, 4, 1, 1, true},            // more ranks than cores
                        Case{64, 64, 1, 8, 8, true, 8.0},     // a container's quota
                        Case{64, 64, 4, 2, 2, true, 9.5},     // shared
                        Case{16, 64, 4, 2, 2, false, 8.0},    // with a mask that is wider
                        Case{2, 64, 1, 2, 8, false, 8.0},     // and one that is narrower
                        Case{64, 64, 1, 1, 1, true, 0.5},     // less than a core
                        Case{4, 4, 2, 2, 2, true, 100.0}}) {  // more than there are
    INFO(c.allowed << " of " << c.reachable << ", " << c.ranks << " ranks");
    const CoreShare share = wam::share_of_cores(c.allowed, c.reachable, c.ranks, c.quota);
    CHECK(share.cores == c.cores);
    CHECK(share.fair == c.fair);
    CHECK(share.whole == c.whole);
  }
}
