#include "data/picture_memory/picture_memory.h"

#include <thread>
#include <vector>

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>

#include "test/support/catch.h"

namespace wam {

TEST_CASE("picture memory: a block is handed out again, also for a size a little smaller") {
  const void* first = picture_memory({33, 180, 320, 3}).const_data_ptr();
  const std::size_t idle = idle_picture_memory();

  const at::Tensor again = picture_memory({33, 180, 320, 3});

  CHECK(again.const_data_ptr() == first);
  CHECK(again.scalar_type() == at::kByte);
  CHECK(again.is_contiguous());
  CHECK(idle_picture_memory() + again.nbytes() <= idle);
  CHECK(picture_memory({33, 180, 320, 3}).const_data_ptr() != first);
}

TEST_CASE("picture memory: a much smaller picture does not take a large block") {
  const void* large = picture_memory({40, 180, 320, 3}).const_data_ptr();

  const at::Tensor small = picture_memory({10, 180, 320, 3});

  CHECK(small.const_data_ptr() != large);
  CHECK(picture_memory({40, 180, 320, 3}).const_data_ptr() == large);
}

TEST_CASE("picture memory: no pictures, and a view that outlives the tensor it was cut from") {
  CHECK(picture_memory({0, 4, 4, 3}).numel() == 0);
  at::Tensor last;
  {
    at::Tensor all = picture_memory({3, 100, 100, 3});
    all.fill_(7);
    last = all.select(0, 2);
  }
  picture_memory({3, 100, 100, 3}).fill_(9);
  CHECK(at::equal(last, at::full({100, 100, 3}, 7, at::kByte)));
}

TEST_CASE("picture memory: threads never hold the same block") {
  constexpr int kThreads = 4;
  constexpr int kTurns = 200;
  std::vector<int> wrong(kThreads, 0);
  std::vector<std::thread> threads;
  for (int id = 0; id < kThreads; ++id) {
    threads.emplace_back([id, &wrong] {
      for (int turn = 0; turn < kTurns; ++turn) {
        const at::Tensor mine = picture_memory({2, 60, 80 + 10 * (turn % 3), 3});
        mine.fill_(id);
        std::this_thread::yield();
        if (!mine.eq(id).all().item<bool>()) ++wrong[static_cast<std::size_t>(id)];
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(kThreads, 0));
}

}  // namespace wam
