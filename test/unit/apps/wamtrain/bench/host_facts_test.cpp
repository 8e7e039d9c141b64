#include "apps/wamtrain/bench/host_facts.h"

#include <sstream>

#include "test/support/catch.h"

TEST_CASE("the processor is named as the kernel has it") {
  std::istringstream of_amd(
      "processor\t: 0\nmodel\t\t: 2\nmodel name\t: AMD EPYC 9554 64-Core Processor\n"
      "processor\t: 1\nmodel name\t: Another\n");
  CHECK(wam::processor_name(of_amd) == "AMD EPYC 9554 64-Core Processor");
  std::istringstream of_arm("processor\t: 0\nCPU part\t: 0xd4f\n");
  CHECK(wam::processor_name(of_arm) == "unknown processor");
}

TEST_CASE("a file lies on the file system of the innermost mount, the latest of several") {
  const std::string mounts =
      "overlay / overlay rw 0 0\n"
      "server:/data /data nfs4 rw 0 0\n"
      "/dev/sda1 /data/fast ext4 rw 0 0\n"
      "/dev/sdb1 /data/fast xfs rw 0 0\n"
      "tmpfs /database tmpfs rw 0 0\n";
  const auto of = [&](const char* path) {
    std::istringstream in(mounts);
    return wam::file_system_of(path, in);
  };
  CHECK(of("/home/droid") == "overlay");
  CHECK(of("/data/droid") == "nfs4");
  CHECK(of("/data/fast/droid") == "xfs");
  CHECK(of("/data/faster") == "nfs4");
  CHECK(of("/database/droid") == "tmpfs");
  std::istringstream none("");
  CHECK(wam::file_system_of("/x", none) == "unknown file system");
}
