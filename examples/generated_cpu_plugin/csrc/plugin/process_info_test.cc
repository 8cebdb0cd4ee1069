#include <string>
#include <vector>

#include "generated/features.h"
#include "plugin/api_test_util.h"
#include "plugin/fake_backend_test_util.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

#if PJRT_SCAFFOLD_HAS_PJRT_ProcessInfo_struct_size
TEST(ProcessInfo, ReachesTheDriver) {
  Fake::Reset();
  TestClient client;
  const std::string message = "lost its network";
  std::vector<PJRT_ProcessInfo> infos(3);
  for (int i = 0; i < 3; ++i) {
    infos[i].struct_size = sizeof(PJRT_ProcessInfo);
    infos[i].task_id = i;
    infos[i].incarnation_id = 100 + i;
  }
  infos[0].state = PJRT_ProcessState_kConnected;
  infos[1].state = PJRT_ProcessState_kError;
  infos[1].error_code = int(PJRT_Error_Code_UNAVAILABLE);
  infos[1].error_message = message.data();
  infos[1].error_message_size = message.size();
  infos[2].state = PJRT_ProcessState_kError;
  infos[2].error_code = 99;  // no code, and no message
  auto args = Make<PJRT_Client_UpdateGlobalProcessInfo_Args>();
  args.client = client.client;
  args.process_infos = infos.data();
  args.num_process_infos = infos.size();
  EXPECT_EQ(Text(Api().PJRT_Client_UpdateGlobalProcessInfo(&args)), "");
  const std::vector<backend::ProcessInfo> seen = Fake::Processes();
  ASSERT_TRUE(seen.size() == 3);
  EXPECT_TRUE(seen[0].connected);
  EXPECT_TRUE(seen[0].error.ok());
  EXPECT_EQ(seen[0].incarnation, uint64_t{100});
  EXPECT_FALSE(seen[1].connected);
  EXPECT_EQ(seen[1].index, 1);
  EXPECT_EQ(seen[1].error.code(), backend::Code::kUnavailable);
  EXPECT_EQ(seen[1].error.message(), message);
  EXPECT_EQ(seen[2].error.code(), backend::Code::kUnknown);
}

TEST(ProcessInfo, OfNobodyIsFine) {
  Fake::Reset();
  TestClient client;
  auto args = Make<PJRT_Client_UpdateGlobalProcessInfo_Args>();
  args.client = client.client;
  args.num_process_infos = 2;  // of no list
  EXPECT_EQ(Text(Api().PJRT_Client_UpdateGlobalProcessInfo(&args)), "");
  EXPECT_TRUE(Fake::Processes().empty());
}
#endif

TEST(ProcessInfo, IsTestedWhereTheApiHasIt) {}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
