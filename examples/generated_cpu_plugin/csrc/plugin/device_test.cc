#include "plugin/device.h"

#include "generated/features.h"
#include "plugin/api_test_util.h"
#include "plugin/fake_backend_test_util.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

#if PJRT_SCAFFOLD_HAS_PJRT_Device_ClearMemoryStats
TEST(ClearMemoryStats, AsksTheMemory) {
  Fake::Reset({.can_clear_stats = true});
  TestClient client;
  auto args = Make<PJRT_Device_ClearMemoryStats_Args>();
  args.device = client.device(1);
  EXPECT_EQ(Text(Api().PJRT_Device_ClearMemoryStats(&args)), "");
  EXPECT_EQ(Fake::StatsCleared(), 1);
  Fake::Reset();
  EXPECT_CONTAINS(Text(Api().PJRT_Device_ClearMemoryStats(&args)), "12: ");
}
#endif

TEST(ClearMemoryStats, IsTestedWhereTheApiHasIt) {}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
