#include "backend/layout.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "testing/test.h"

namespace PJRT_PLUGIN_NS::backend {
namespace {

using Order = std::vector<int64_t>;

TEST(Layout, OneOfAllOrdersIsRowMajor) {
  for (size_t rank = 0; rank <= 5; ++rank) {
    Order order(rank);
    for (size_t i = 0; i < rank; ++i) order[i] = int64_t(i);
    int row_major = 0;
    do {
      EXPECT_TRUE(IsLayout(order, rank));
      EXPECT_EQ(IsRowMajor(order), order == RowMajorLayout(rank));
      row_major += IsRowMajor(order) ? 1 : 0;
    } while (std::next_permutation(order.begin(), order.end()));
    EXPECT_EQ(row_major, 1);
  }
}

TEST(Layout, NamesEachDimensionOnce) {
  EXPECT_FALSE(IsLayout(Order{}, 1));
  EXPECT_FALSE(IsLayout(Order{0, 1}, 1));
  EXPECT_FALSE(IsLayout(Order{0, 0}, 2));
  EXPECT_FALSE(IsLayout(Order{0, 2}, 2));
  EXPECT_FALSE(IsLayout(Order{-1, 0}, 2));
  EXPECT_FALSE(IsLayout(Order{0, INT64_MAX}, 2));
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::backend
