#include "parallel/launch/placement.h"

#include <numeric>

#include "core/base/errors.h"
#include "test/support/catch.h"

using Catch::Contains;
using wam::Cores;
using wam::cores_of_rank;
using wam::Launcher;

namespace {

Cores range(int first, int last) {
  Cores out(static_cast<std::size_t>(last - first + 1));
  std::iota(out.begin(), out.end(), first);
  return out;
}

// By physical core: 0 and 8 are the two threads of the first one.
const Cores kThreaded{0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15};

}  // namespace

TEST_CASE("placement: without GPUs by local rank, whole physical cores") {
  CHECK(cores_of_rank(range(0, 7), {}, 2, 0) == range(0, 3));
  CHECK(cores_of_rank(range(0, 7), {}, 2, 1) == range(4, 7));
  CHECK(cores_of_rank(kThreaded, {}, 4, 0) == Cores{0, 1, 8, 9});
  CHECK(cores_of_rank(kThreaded, {}, 4, 3) == Cores{6, 7, 14, 15});
  // What cannot be divided stays free.
  CHECK(cores_of_rank(range(0, 6), {}, 3, 2) == Cores{4, 5});
  // Fewer cores than ranks: nobody has one of its own.
  CHECK(cores_of_rank(range(0, 1), {}, 3, 2) == Cores{0, 1});
}

TEST_CASE("placement: near the GPU, divided with those that are near the same cores") {
  // Two sockets of four cores; GPUs 0 and 2 on the second.
  const std::vector<Cores> near{range(4, 7), range(0, 3), range(4, 7), range(0, 3)};
  CHECK(cores_of_rank(range(0, 7), near, 4, 0) == Cores{4, 5});
  CHECK(cores_of_rank(range(0, 7), near, 4, 1) == Cores{0, 1});
  CHECK(cores_of_rank(range(0, 7), near, 4, 2) == Cores{6, 7});
  CHECK(cores_of_rank(range(0, 7), near, 4, 3) == Cores{2, 3});
}

TEST_CASE("placement: equal parts where the GPUs are not spread equally") {
  // Both GPUs on the first socket: each gets half of it, and half of the other.
  const std::vector<Cores> both{range(0, 3), range(0, 3)};
  CHECK(cores_of_rank(range(0, 7), both, 2, 0) == Cores{0, 1, 4, 5});
  CHECK(cores_of_rank(range(0, 7), both, 2, 1) == Cores{2, 3, 6, 7});
  // One GPU near nothing that is known, and one whose cores are not of this job.
  const std::vector<Cores> odd{{}, range(0, 3), range(100, 103), range(0, 3)};
  std::vector<int> times(8);
  for (int rank = 0; rank < 4; ++rank) {
    const Cores cores = cores_of_rank(range(0, 7), odd, 4, rank);
    CHECK(cores.size() == 2);
    for (const int core : cores) ++times[static_cast<std::size_t>(core)];
  }
  CHECK(times == std::vector<int>(8, 1));
  CHECK(cores_of_rank(range(0, 7), odd, 4, 3) == Cores{2, 3});
}

TEST_CASE("placement: a mask that is too narrow names the launcher's flag") {
  const auto advice = [](Launcher launcher, std::size_t allowed, int wanted) {
    return wam::narrow_mask_advice(launcher, wam::share_of_cores(allowed, 64, 2, {}), wanted)
        .value_or("");
  };
  CHECK_THAT(advice(Launcher::kOpenMpi, 1, 63),
             Catch::Contains("may use 1 of the host's cores, where its part is 32 and 32") &&
                 Catch::Contains("--bind-to none") && Catch::Contains("--map-by slot:PE=32"));
  CHECK_THAT(advice(Launcher::kSlurm, 1, 4),
             Catch::Contains("--cpus-per-task=4") && Catch::Contains("--cpu-bind=none"));
  CHECK_THAT(advice(Launcher::kMpich, 1, 4), Catch::Contains("-bind-to none"));
  CHECK_THAT(advice(Launcher::kTorchrun, 1, 4), Catch::Contains("taskset"));
  // Enough for what runs, the equal part, the whole machine, or nobody to tell.
  CHECK(advice(Launcher::kOpenMpi, 2, 2).empty());
  CHECK(advice(Launcher::kOpenMpi, 32, 63).empty());
  CHECK(advice(Launcher::kOpenMpi, 64, 63).empty());
  CHECK(advice(Launcher::kNone, 1, 63).empty());
}

TEST_CASE("placement: a rank's GPU among those that it sees") {
  CHECK(wam::gpu_of_rank(8, 5, 8) == 5);
  CHECK(wam::gpu_of_rank(8, 1, 2) == 1);
  CHECK(wam::gpu_of_rank(1, 0, 1) == 0);
  CHECK(wam::gpu_of_rank(1, 5, 8) == 0);  // srun --gpus-per-task=1
  CHECK_THROWS_AS(wam::gpu_of_rank(4, 4, 8), wam::DeviceError);
  CHECK_THROWS_WITH(wam::gpu_of_rank(4, 5, 8),
                    Contains("sees 4 GPUs, and is number 5 of 8 on its host") && Contains("Fix: "));
}

TEST_CASE("placement: two ranks of a host that have one GPU are named") {
  CHECK_FALSE(wam::shared_gpu({"0000:1b:00.0 of a", "0000:1c:00.0 of a", "0000:1b:00.0 of b"}));
  CHECK_THAT(
      wam::shared_gpu({"0000:1b:00.0 of a", "0000:1c:00.0 of a", "0000:1c:00.0 of a"}).value_or(""),
      Contains("ranks 1 and 2 have the same one, 0000:1c:00.0 of a. Fix: "));
}

TEST_CASE("placement: groups of shards that a launcher scattered over hosts are named") {
  const auto advice = wam::scattered_groups_advice({"a", "b", "a", "b"}, 2);
  CHECK_THAT(advice.value_or(""), Contains("ranks 0 and 1 are of one group of shards and on two "
                                           "hosts, a and b") &&
                                      Contains("Fix: ") && Contains("--map-by slot"));
  CHECK_THAT(wam::scattered_groups_advice({"a", "a", "b", "c", "c", "b"}, 2).value_or(""),
             Contains("ranks 2 and 3 "));
  CHECK_FALSE(wam::scattered_groups_advice({"a", "a", "b", "b"}, 2));
  CHECK_FALSE(wam::scattered_groups_advice({"a", "b", "a", "b"}, 4));            // one group
  CHECK_FALSE(wam::scattered_groups_advice({"a", "b", "a", "b"}, 1));            // replicas
  CHECK_FALSE(wam::scattered_groups_advice({"a", "a", "a", "b", "b", "b"}, 2));  // cannot do better
}
