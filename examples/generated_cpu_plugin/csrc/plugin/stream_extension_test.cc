// The Stream extension on a backend without streams.

#include <thread>

#include "plugin/api_test_util.h"
#include "plugin/fake_backend_test_util.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

const PJRT_Stream_Extension& Streams() {
  return *FindExtension<PJRT_Stream_Extension>(PJRT_Extension_Type_Stream);
}

// A number that is no stream would be followed as a pointer by whoever it is given to.
TEST(StreamExtension, ThereIsNoHandleWithoutStreams) {
  Fake::Reset();
  TestClient client;
  auto args = Make<PJRT_Get_Stream_For_External_Ready_Events_Args>();
  args.device = client.device(0);
  EXPECT_CONTAINS(Text(Streams().get_stream(&args)),
                  "12: PJRT_Get_Stream_For_External_Ready_Events: ");
  args.device = nullptr;
  EXPECT_CONTAINS(Text(Streams().get_stream(&args)), "3: ");
}

TEST(StreamExtension, TheCallerWaitsForTheBuffer) {
  Fake::Reset({.manual = true});
  TestClient client;
  PJRT_Buffer* buffer = client.Put<float>({1}, {1});
  std::thread device([] { Fake::RunQueued(); });
  auto args = Make<PJRT_Wait_Until_Buffer_Ready_On_Stream_Args>();
  args.buffer = buffer;
  args.stream = 1;
  EXPECT_EQ(Text(Streams().wait_stream(&args)), "");
  auto ready = Make<PJRT_Buffer_ReadyEvent_Args>();
  ready.buffer = buffer;
  EXPECT_EQ(Text(Api().PJRT_Buffer_ReadyEvent(&ready)), "");
  EXPECT_TRUE(IsReady(ready.event));
  DestroyEvent(ready.event);
  device.join();
  DestroyBuffer(buffer);
}

TEST(StreamExtension, WaitingFailsWithTheBuffer) {
  Fake::Reset();
  TestClient client;
  PJRT_LoadedExecutable* late = client.Compile("late");
  PJRT_Buffer* buffer = client.Put<float>({0, 0, 0, 0}, {4});
  Execution run = Execute(late, {{buffer}});
  ASSERT_TRUE(run.error.empty());
  auto args = Make<PJRT_Wait_Until_Buffer_Ready_On_Stream_Args>();
  args.buffer = run.outputs[0][0];
  EXPECT_CONTAINS(Text(Streams().wait_stream(&args)), "PJRT_Wait_Until_Buffer_Ready_On_Stream: ");
  Destroy(run);
  DestroyBuffer(buffer);
  DestroyLoaded(late);
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
