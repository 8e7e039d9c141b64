#include "test/golden/golden_place.h"

namespace wam::test {

std::vector<GoldenPlace> golden_places() {
  return {{c10::kCPU, c10::kDouble}, {c10::kCPU, c10::kFloat}};
}

}  // namespace wam::test
