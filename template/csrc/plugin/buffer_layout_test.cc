#include <vector>

#include "plugin/api_test_util.h"
#include "plugin/fake_backend_test_util.h"
#include "plugin/layout.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

TEST(MemoryLayout, IsRowMajorAtEveryRank) {
  Fake::Reset();
  TestClient client;
  for (size_t rank : {size_t{0}, size_t{1}, size_t{3}, kMaxRank}) {
    PJRT_Buffer* x = client.Put<float>({1}, std::vector<int64_t>(rank, 1));
    auto args = Make<PJRT_Buffer_GetMemoryLayout_Args>();
    args.buffer = x;
    EXPECT_EQ(Text(Api().PJRT_Buffer_GetMemoryLayout(&args)), "");
    EXPECT_EQ(int(args.layout.type), int(PJRT_Buffer_MemoryLayout_Type_Tiled));
    EXPECT_EQ(args.layout.tiled.num_tiles, size_t{0});
    EXPECT_EQ(args.layout.tiled.minor_to_major_size, rank);
    for (size_t i = 0; i < rank; ++i) {
      EXPECT_EQ(args.layout.tiled.minor_to_major[i], int64_t(rank - 1 - i));
    }
    DestroyBuffer(x);
  }
}

TEST(MemoryLayout, SaysWhichRankIsTooHigh) {
  Fake::Reset();
  TestClient client;
  PJRT_Buffer* x = client.Put<float>({1}, std::vector<int64_t>(kMaxRank + 1, 1));
  auto args = Make<PJRT_Buffer_GetMemoryLayout_Args>();
  args.buffer = x;
  EXPECT_CONTAINS(Text(Api().PJRT_Buffer_GetMemoryLayout(&args)), "rank 65");
  DestroyBuffer(x);
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
